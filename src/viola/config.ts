/**
 * Settings of the Viola API.
 */
import * as z from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { tenantName } from '../contract/text.ts'
import { shownName } from '../contract/truncate.ts'
import { accessSettings } from '../server/access-settings.ts'
import { completeTls, tlsSettings } from '../server/tls-settings.ts'
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
  ...tlsSettings('VIOLA'),
  VIOLA_CLIENT_CA_FILE: text(
    'CA of client certificates. The common name is the user, the organizations are the groups of the caller.',
  ),
  KUBERNETES_SERVICE_HOST: text('Set by Kubernetes in every Pod.'),
  KUBERNETES_SERVICE_PORT: text('Set by Kubernetes in every Pod.'),
  ...traceSettings,
})

export const violaSettings = fields.superRefine(completeTls('VIOLA'))

export type ViolaSettings = z.infer<typeof violaSettings>
