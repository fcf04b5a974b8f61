/**
 * What the parts that are installed say of themselves at /readyz, asked through the API server: nothing has to be forwarded.
 */

import type { KubeClient } from '../../kube/client.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { PartWords, Workload } from './checks.ts'

/** Parts without a ready replica are told of otherwise, and have nobody who could answer. */
export async function wordsOfParts(
  kube: KubeClient,
  namespace: string,
  workloads: readonly Workload[],
): Promise<PartWords[]> {
  return Promise.all(
    workloads
      .filter(({ ready, answersAt }) => ready > 0 && answersAt !== undefined)
      .map(async ({ name, answersAt }) => {
        const { tls = false, port = '' } = answersAt ?? {}
        const service = `${tls ? 'https:' : ''}${name}:${port}`
        try {
          const { body } = await kube.raw('GET', `/api/v1/namespaces/${namespace}/services/${service}/proxy/readyz`)
          const { warnings = [] } = body as { warnings?: unknown[] }
          return { name, warnings: warnings.map(String) }
        } catch (error) {
          return { name, unasked: messageOf(error) }
        }
      }),
  )
}
