/**
 * Reads /readyz of the installed components through the API server, so that no port-forward is needed.
 */
import type { KubeClient } from '../../kube/client.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Readiness, Workload } from './checks.ts'

/** Skips components without a ready replica: nothing would respond, and another check reports them. */
export async function readinessOf(
  kube: KubeClient,
  namespace: string,
  workloads: readonly Workload[],
): Promise<Readiness[]> {
  return Promise.all(
    workloads
      .filter(({ ready, readyzAt }) => ready > 0 && readyzAt !== undefined)
      .map(async ({ name, readyzAt }) => {
        const { tls = false, port = '' } = readyzAt ?? {}
        const service = `${tls ? 'https:' : ''}${name}:${port}`
        try {
          const { body } = await kube.raw('GET', `/api/v1/namespaces/${namespace}/services/${service}/proxy/readyz`)
          const { warnings = [] } = body as { warnings?: unknown[] }
          return { name, warnings: warnings.map(String) }
        } catch (error) {
          return { name, unknown: messageOf(error) }
        }
      }),
  )
}
