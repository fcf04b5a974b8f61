/**
 * Settings of the inventory.
 */
import { z } from 'zod'

const file = z.string().min(1)

const databaseUrl = z.string().refine(
  text => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''),
  // The value holds a password and is never shown.
  'must look like postgresql://user:password@host:5432/name, with special characters of the password percent-encoded',
)

const fields = z.object({
  INVENTORY_ENABLED: z.stringbool().default(true).meta({ description: '`false`: the operator keeps no inventory.' }),
  INVENTORY_ADDR: z.string().default(':18081').meta({ description: 'Where it listens.' }),
  INVENTORY_DB_PATH: file.default('/var/lib/multinic-operator/inventory.db').meta({
    description:
      'The embedded database. A path that ends in `.json` names the file of older versions: it is imported once into the `.db` beside it.',
  }),
  INVENTORY_DATABASE_URL: databaseUrl.optional().meta({
    description:
      'A PostgreSQL instead of the embedded database, `postgresql://user:password@host:5432/name`: for several replicas. Keep it in a Secret.',
  }),
  INVENTORY_HISTORY_DAYS: z.coerce.number().int().min(1).max(36_500).default(365).meta({
    description: 'How long history is kept. A change of a node with 10 interfaces takes about 10 KiB.',
  }),
  INVENTORY_TOKENS_FILE: file.optional().meta({
    description: 'Who may read (role `read`) and write (role `admin`). Read again when it changes.',
  }),
  INVENTORY_OPEN_READS: z.stringbool().optional().meta({
    description:
      'Whether everybody who reaches the API may read. When absent: only while there is no token file. Writing always needs a token.',
  }),
  INVENTORY_TOKEN_REVIEW: z.stringbool().default(false).meta({
    description:
      '`true`: bearer tokens that the file does not hold are shown to the Kubernetes that the inventory runs in (or that of `KUBECONFIG`), and its users may what the file gives them (`user:`).',
  }),
  INVENTORY_TOKEN_AUDIENCE: file.optional().meta({
    description:
      'The audience that such a token must be made for. Set it: without one, any token for the cluster’s API counts.',
  }),
  INVENTORY_RATE_LIMIT: z.coerce.number().int().min(0).max(1_000_000).default(100).meta({
    description:
      'Requests a second that one address may make, after a first burst of four times as many; more are answered 429. `0`: no limit.',
  }),
  INVENTORY_WEB_DIR: file.optional().meta({
    description:
      'Where the bundled dashboard is. Found by itself: next to the bundled program (`web/`), or in `dist/web` of a checkout. Without one, `/` leads to the API’s page.',
  }),
})

export const inventoryShape = fields.shape

export const inventorySettings = fields.superRefine((settings, context) => {
  if (settings.INVENTORY_TOKEN_REVIEW && settings.INVENTORY_TOKENS_FILE === undefined)
    context.addIssue({ code: 'custom', path: ['INVENTORY_TOKEN_REVIEW'], message: 'needs INVENTORY_TOKENS_FILE too' })
})
