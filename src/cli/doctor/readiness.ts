/**
 * Reads /readyz of the installed components through the API server, so that neither a Service nor a port-forward is needed.
 */
import type { KubeClient } from '../../kube/client.ts'
import { KubeError } from '../../kube/errors.ts'
import { pods } from '../../kube/resources.ts'
import type { PodObject } from '../../kube/types.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Readiness, Workload } from './checks.ts'

/** Skips components without a running Pod: nothing would respond, and another check reports them. */
export async function readinessOf(
  kube: KubeClient,
  namespace: string,
  workloads: readonly Workload[],
): Promise<Readiness[]> {
  const all = await Promise.all(
    workloads
      .filter(({ readyzAt }) => readyzAt !== undefined)
      .map(async ({ name, component, readyzAt }): Promise<Readiness[]> => {
        try {
          const { tls = false, port } = readyzAt ?? {}
          const labelSelector = `app.kubernetes.io/part-of=multinic,app.kubernetes.io/component=${component}`
          const running = (await kube.list(pods, { namespace, labelSelector })).items.filter(isRunning)
          const pod = running.find(isReady) ?? running[0]
          if (!pod) return []
          const target = `${tls ? 'https:' : ''}${pod.metadata.name}:${port}`
          const path = `/api/v1/namespaces/${namespace}/pods/${target}/proxy/readyz`
          // One that is not ready answers 503 with the same body.
          const { body } = await kube.raw('GET', path).catch(error => {
            if (error instanceof KubeError && error.status === 503 && isReadyz(error.body)) return error
            throw error
          })
          const { missing = [], warnings = [] } = body as { missing?: unknown[]; warnings?: unknown[] }
          return [{ name, missing: missing.map(String), warnings: warnings.map(String) }]
        } catch (error) {
          return [{ name, unknown: messageOf(error) }]
        }
      }),
  )
  return all.flat()
}

function isReadyz(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'missing' in body
}

function isRunning({ status }: PodObject): boolean {
  return status?.phase === 'Running'
}

function isReady({ status }: PodObject): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
