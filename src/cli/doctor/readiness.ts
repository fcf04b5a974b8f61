/**
 * Reads /readyz of the installed components through the API server, so that neither a Service nor a port-forward is needed.
 */
import type { KubeClient } from '../../kube/client.ts'
import { pods } from '../../kube/resources.ts'
import type { PodObject } from '../../kube/types.ts'
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
      .map(async ({ name, component, readyzAt }) => {
        try {
          const { tls = false, port } = readyzAt ?? {}
          const labelSelector = `app.kubernetes.io/part-of=multinic,app.kubernetes.io/component=${component}`
          const pod = (await kube.list(pods, { namespace, labelSelector })).items.find(isReady)
          if (!pod) throw new Error('no Pod is ready')
          const target = `${tls ? 'https:' : ''}${pod.metadata.name}:${port}`
          const { body } = await kube.raw('GET', `/api/v1/namespaces/${namespace}/pods/${target}/proxy/readyz`)
          const { warnings = [] } = body as { warnings?: unknown[] }
          return { name, warnings: warnings.map(String) }
        } catch (error) {
          return { name, unknown: messageOf(error) }
        }
      }),
  )
}

function isReady({ status }: PodObject): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
