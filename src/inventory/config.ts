/**
 * Settings of the inventory.
 */
import * as z from 'zod'
import { accessSettings } from '../server/access-settings.ts'
import { completeTls, tlsSettings } from '../server/tls-settings.ts'

const file = z.string().min(1)

const databaseUrl = z.string().refine(
  text => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''),
  // The message never shows the value: it contains a password.
  'must have the form postgresql://user:password@host:5432/name; percent-encode special characters of the password',
)

const fields = z.object({
  INVENTORY_ENABLED: z
    .stringbool()
    .default(true)
    .meta({ description: '`false`: the operator runs without an inventory.' }),
  INVENTORY_ADDR: z.string().default(':18081').meta({ description: 'Listen address.' }),
  INVENTORY_DB_PATH: file.default('/var/lib/multinic-operator/inventory.db').meta({
    description:
      'File of the embedded SQLite database. For a path that ends in `.json`, the database is the `.db` file next to it, and the legacy JSON file is imported once.',
  }),
  INVENTORY_DATABASE_URL: databaseUrl.optional().meta({
    description:
      'PostgreSQL database, required for several replicas: `postgresql://user:password@host:5432/name`. Keep it in a Secret.',
  }),
  INVENTORY_HISTORY_DAYS: z.coerce.number().int().min(1).max(36_500).default(365).meta({
    description: 'Days to keep history. A change of a node with 10 interfaces takes about 10 KiB.',
  }),
  ...accessSettings('INVENTORY'),
  ...tlsSettings('INVENTORY'),
  INVENTORY_RATE_LIMIT: z.coerce.number().int().min(0).max(1_000_000).default(100).meta({
    description:
      'Maximum requests per second from one address, with bursts of four times as many. Further requests get a 429. `0`: no limit.',
  }),
  INVENTORY_WEB_DIR: file.optional().meta({
    description:
      'Directory of the bundled dashboard. Default: `web/` next to the program, or `dist/web` of a checkout. Without a dashboard, `/` links to the API documentation.',
  }),
})

export const inventorySettings = fields.superRefine(completeTls('INVENTORY'))

export type InventorySettings = z.infer<typeof inventorySettings>
