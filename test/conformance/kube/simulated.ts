/** The simulated API server in a temporary directory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KubeApi, startKubeApi } from '../../../sandbox/kube/server.ts'
import { silent } from '../../../src/telemetry/log.ts'

export async function startSimulated(): Promise<{ api: KubeApi; kubeconfig: string; close(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-kube-'))
  const api = await startKubeApi({ name: 'conformance', dir, log: silent })
  return {
    api,
    kubeconfig: api.kubeconfig,
    async close() {
      await api.close()
      await rm(dir, { recursive: true })
    },
  }
}
