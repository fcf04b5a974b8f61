/**
 * Settings of the Viola API.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { traceSettings } from '../telemetry/trace-export.ts'

const text = (about: string) => z.string().min(1).optional().describe(about)
const duration = (usual: string, about: string) =>
  z
    .string()
    .default(usual)
    .transform((given, context) => {
      const ms = parseDuration(given)
      if (ms === undefined)
        context.addIssue(`${JSON.stringify(given.slice(0, 100))} is not a positive duration, such as 10s`)
      return ms ?? 0
    })
    .describe(about)

const fields = z.object({
  LISTEN_ADDR: z.string().default(':8080').describe('Where it listens.'),
  ROUTING_CONFIG: text('The routing file; without one every provider is in one cluster.'),
  TARGET_NAMESPACE: z
    .string()
    .min(1)
    .max(63)
    .default('multinic-system')
    .describe('Namespace of the objects, unless the routing names another.'),
  KUBECONFIG: text('Kubeconfig of the one cluster; without this and the next the cluster of the Pod itself.'),
  KUBE_API_SERVER: text('Address of the one cluster, instead of a kubeconfig.'),
  KUBE_CA_PATH: text('Certificates that it is trusted by.'),
  KUBE_TOKEN: text('Bearer token for it.'),
  KUBE_TOKEN_FILE: text('File with that token, read again when it rotates.'),
  KUBE_TIMEOUT: duration('10s', 'Limit of one request to a cluster.'),
  VIOLA_PARALLEL: z.coerce
    .number()
    .int()
    .min(1)
    .max(256)
    .default(16)
    .describe('Writes to one cluster at a time, of all requests together.'),
  VIOLA_TOKENS_FILE: text('Who may write what. Without it everybody may, and /readyz says so.'),
  VIOLA_TLS_CERT_FILE: text('Certificate: HTTPS instead of HTTP. Renewed files are taken up by themselves.'),
  VIOLA_TLS_KEY_FILE: text('Its key.'),
  VIOLA_CLIENT_CA_FILE: text('Callers with a certificate of this CA are known by the name in it.'),
  VIOLA_TOKEN_REVIEW: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true: tokens that the file does not hold are shown to the Kubernetes that Viola runs in.'),
  VIOLA_TOKEN_AUDIENCE: text(
    'The audience that such a token must be made for. Set it: without one, any token for the cluster’s API counts.',
  ),
  KUBERNETES_SERVICE_HOST: text('Set by Kubernetes in every Pod.'),
  KUBERNETES_SERVICE_PORT: text('The same.'),
  ...traceSettings,
})

/** What only makes sense together. */
const beside = {
  VIOLA_TLS_CERT_FILE: ['VIOLA_TLS_KEY_FILE'],
  VIOLA_TLS_KEY_FILE: ['VIOLA_TLS_CERT_FILE'],
  VIOLA_CLIENT_CA_FILE: ['VIOLA_TLS_CERT_FILE', 'VIOLA_TOKENS_FILE'],
} as const

export const violaSettings = fields.superRefine((settings, context) => {
  const needed: [string, readonly (keyof typeof settings)[]][] = Object.entries(beside).filter(
    ([name]) => settings[name as keyof typeof beside] !== undefined,
  )
  if (settings.VIOLA_TOKEN_REVIEW === 'true') needed.push(['VIOLA_TOKEN_REVIEW', ['VIOLA_TOKENS_FILE']])
  for (const [name, others] of needed)
    for (const other of others)
      if (settings[other] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: `needs ${other} too` })
})

export type ViolaSettings = z.infer<typeof violaSettings>
