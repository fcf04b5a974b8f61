/**
 * Settings of the Viola API.
 */
import * as z from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { tenantName } from '../contract/text.ts'
import { shownName } from '../contract/truncate.ts'
import { accessSettings } from '../server/access-settings.ts'
import { traceSettings } from '../telemetry/trace-export.ts'

const text = (description: string) => z.string().min(1).optional().describe(description)
const duration = (initial: string, description: string) =>
  z
    .string()
    .default(initial)
    .transform((value, context) => {
      const ms = parseDuration(value)
      if (ms === undefined)
        context.addIssue(`${JSON.stringify(value.slice(0, 100))} is not a positive duration, such as 10s`)
      return ms ?? 0
    })
    .describe(description)

/** Screens show it as it is. */
export const providerName = tenantName.refine(
  name => shownName(name) === name,
  'must be one line, without invisible characters and without spaces at its ends',
)

const fields = z.object({
  LISTEN_ADDR: z.string().default(':8080').describe('Listen address.'),
  ROUTING_CONFIG: text('Routing file. Without one, all providers share one cluster.'),
  TARGET_NAMESPACE: z
    .string()
    .min(1)
    .max(63)
    .default('multinic-system')
    .describe('Namespace of MultiNicNodeConfigs, unless the routing names another.'),
  VIOLA_PROVIDER_NAME: providerName
    .optional()
    .describe('Name of the cluster for people, without a routing file. With one, each target has its own.'),
  KUBECONFIG: text('Kubeconfig of the cluster. Default: the cluster that Viola runs in.'),
  KUBE_API_SERVER: text('URL of the Kubernetes API server, instead of a kubeconfig.'),
  KUBE_CA_PATH: text('CA certificates of the API server.'),
  KUBE_TOKEN: text('Bearer token for the API server.'),
  KUBE_TOKEN_FILE: text('File with the bearer token. A rotated token applies without a restart.'),
  KUBE_TIMEOUT: duration('10s', 'Timeout of a request to a cluster.'),
  VIOLA_PARALLEL: z.coerce
    .number()
    .int()
    .min(1)
    .max(256)
    .default(16)
    .describe('Maximum concurrent writes to one cluster, of all requests together.'),
  ...accessSettings('VIOLA'),
  VIOLA_TLS_CERT_FILE: text('Server certificate; enables HTTPS. Renewed files apply without a restart.'),
  VIOLA_TLS_KEY_FILE: text('Private key of the server certificate.'),
  VIOLA_CLIENT_CA_FILE: text(
    'CA of client certificates. The common name is the user, the organizations are the groups of the caller.',
  ),
  KUBERNETES_SERVICE_HOST: text('Set by Kubernetes in every Pod.'),
  KUBERNETES_SERVICE_PORT: text('Set by Kubernetes in every Pod.'),
  ...traceSettings,
})

/** Settings that require others. */
const requirements = {
  VIOLA_TLS_CERT_FILE: ['VIOLA_TLS_KEY_FILE'],
  VIOLA_TLS_KEY_FILE: ['VIOLA_TLS_CERT_FILE'],
  VIOLA_CLIENT_CA_FILE: ['VIOLA_TLS_CERT_FILE'],
} as const

export const violaSettings = fields.superRefine((settings, context) => {
  const required: [string, readonly (keyof typeof settings)[]][] = Object.entries(requirements).filter(
    ([name]) => settings[name as keyof typeof requirements] !== undefined,
  )
  for (const [name, others] of required)
    for (const other of others)
      if (settings[other] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: `requires ${other}` })
})

export type ViolaSettings = z.infer<typeof violaSettings>
