/**
 * How the operator writes OpenstackConfigs: it notes whether the API server refuses that. Without the right to write their
 * status it delivers nothing to a new object, and cannot keep removals on hold across a restart.
 */
import type { KubeClient } from '../../kube/client.ts'
import type { RefusedWrites } from '../../kube/refused-writes.ts'

export function configWriter(kube: KubeClient, refused: Pick<RefusedWrites, 'succeeded' | 'failed'>): KubeClient {
  async function noted<T>(write: Promise<T>): Promise<T> {
    try {
      const written = await write
      refused.succeeded()
      return written
    } catch (error) {
      refused.failed(error)
      throw error
    }
  }
  return {
    ...kube,
    patch: (...request) => noted(kube.patch(...request)),
    patchStatus: (...request) => noted(kube.patchStatus(...request)),
  }
}
