/**
 * A simulated cluster: the Kubernetes API of the sandbox in this process, with a client.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type KubeApi, startKubeApi } from '../../sandbox/kube/server.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { silent } from '../../src/telemetry/log.ts'

export interface SandboxCluster {
  api: KubeApi
  kube: KubeClient
  close(): Promise<void>
}

/** Its files are in the directory `name` of the parent. */
export async function startSandboxCluster(parent: string, name: string): Promise<SandboxCluster> {
  const dir = join(parent, name)
  await mkdir(dir)
  const api = await startKubeApi({ name, dir, log: silent })
  const kube = connectKube(await loadKubeconfig(api.kubeconfig))
  return {
    api,
    kube,
    async close() {
      await kube.close()
      await api.close()
    },
  }
}
