/**
 * Settings of the Viola API.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'

const text = z.string().min(1).optional()
const duration = (usual: string) =>
  z
    .string()
    .default(usual)
    .transform((given, context) => {
      const ms = parseDuration(given)
      if (ms === undefined) context.addIssue(`"${given}" is not a positive duration, such as 10s`)
      return ms ?? 0
    })

export const violaSettings = z.object({
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
  KUBERNETES_SERVICE_HOST: text,
  KUBERNETES_SERVICE_PORT: text,
})

export type ViolaSettings = z.infer<typeof violaSettings>
