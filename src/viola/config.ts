/**
 * Settings of the Viola API.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { traceSettings } from '../trace-export.ts'

const text = z.string().min(1).optional()
const duration = (usual: string) =>
  z
    .string()
    .default(usual)
    .transform((given, context) => {
      const ms = parseDuration(given)
      if (ms === undefined)
        context.addIssue(`${JSON.stringify(given.slice(0, 100))} is not a positive duration, such as 10s`)
      return ms ?? 0
    })

const fields = z.object({
  LISTEN_ADDR: z.string().default(':8080'),
  ROUTING_CONFIG: text,
  TARGET_NAMESPACE: z.string().min(1).max(63).default('multinic-system'),
  KUBECONFIG: text,
  KUBE_API_SERVER: text,
  KUBE_CA_PATH: text,
  KUBE_TOKEN: text,
  KUBE_TOKEN_FILE: text,
  /** Limit of one request to a cluster. */
  KUBE_TIMEOUT: duration('10s'),
  /** Applies to one cluster at a time. */
  VIOLA_PARALLEL: z.coerce.number().int().min(1).max(256).default(16),
  VIOLA_TOKENS_FILE: text,
  VIOLA_TLS_CERT_FILE: text,
  VIOLA_TLS_KEY_FILE: text,
  /** Callers whose certificate it has signed are known by the name in it. */
  VIOLA_CLIENT_CA_FILE: text,
  /** Bearer tokens that the file does not hold are shown to the Kubernetes that we run in. */
  VIOLA_TOKEN_REVIEW: z.enum(['true', 'false']).default('false'),
  VIOLA_TOKEN_AUDIENCE: text,
  KUBERNETES_SERVICE_HOST: text,
  KUBERNETES_SERVICE_PORT: text,
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
