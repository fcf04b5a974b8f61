/**
 * Settings of the inventory.
 */
import { z } from 'zod'

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
  INVENTORY_TOKENS_FILE: file.optional().meta({
    description:
      'File with tokens for reading (role `read`) and writing (role `admin`). Changes apply without a restart.',
  }),
  INVENTORY_OPEN_READS: z.stringbool().optional().meta({
    description:
      '`true`: everyone who can reach the API may read. Default: `true` without a token file, otherwise `false`. Writing always requires a token.',
  }),
  INVENTORY_TOKEN_REVIEW: z.stringbool().default(false).meta({
    description:
      '`true`: verify tokens that are not in the file with a TokenReview in the cluster of the inventory (or of `KUBECONFIG`). Users get the roles of their `user:` entry in the file.',
  }),
  INVENTORY_TOKEN_AUDIENCE: file.optional().meta({
    description:
      'Required audience of such tokens. Set it: without an audience, every token for the Kubernetes API is valid.',
  }),
  INVENTORY_RATE_LIMIT: z.coerce.number().int().min(0).max(1_000_000).default(100).meta({
    description:
      'Maximum requests per second from one address, with bursts of four times as many. Further requests get a 429. `0`: no limit.',
  }),
  INVENTORY_WEB_DIR: file.optional().meta({
    description:
      'Directory of the bundled dashboard. Default: `web/` next to the program, or `dist/web` of a checkout. Without a dashboard, `/` links to the API documentation.',
  }),
})

export const inventoryShape = fields.shape

export const inventorySettings = fields.superRefine((settings, context) => {
  if (settings.INVENTORY_TOKEN_REVIEW && settings.INVENTORY_TOKENS_FILE === undefined)
    context.addIssue({ code: 'custom', path: ['INVENTORY_TOKEN_REVIEW'], message: 'requires INVENTORY_TOKENS_FILE' })
})
