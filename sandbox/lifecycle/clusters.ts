/**
 * The two simulated clusters of a sandbox, management and Biz. real/kubernetes.ts has the real ones.
 */
import { mkdir } from 'node:fs/promises'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { sandboxClusterId } from '../cloud/state.ts'
import { type KubeApi, startKubeApi } from '../kube/server.ts'
import type { Kubelet } from '../nodes/kubelet.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { StateDir } from './state-dir.ts'

export interface Cluster {
  /** Only of a simulated cluster: the getter of a real one throws. */
  readonly api: KubeApi
  kube: KubeClient
  url: string
  kubeconfig: string
  faults: ClusterFaults
  setPodLogs: KubeApi['setPodLogs']
}

/** Faults of the API server of a cluster. */
export interface ClusterFaults {
  setUnreachable(on: boolean): Promise<void>
  setConflicts(on: boolean): void
  /** Compacts the history and ends all watches. */
  compact(): void
}

export interface Clusters {
  management: Cluster
  biz: Cluster
  /** Only of real clusters: a real kubelet for a node. */
  startKubelet?: (node: SandboxNode) => Promise<Kubelet>
  close(): Promise<void>
}

export async function startClusters(state: StateDir, log: Log): Promise<Clusters> {
  const start = (name: string, alias?: string) => startCluster(state, { name, alias }, log)
  // The commands of the dashboard name the context after the provider.
  const [management, biz] = await Promise.all([start('management'), start('biz', sandboxClusterId)])
  return {
    management,
    biz,
    async close() {
      for (const { api, kube } of [biz, management]) {
        await kube.close()
        await api.close()
      }
    },
  }
}

async function startCluster(
  state: StateDir,
  names: { name: string; alias: string | undefined },
  log: Log,
): Promise<Cluster> {
  const dir = state.path(names.name)
  await mkdir(dir, { recursive: true })
  const api = await startKubeApi({ ...names, dir, log })
  return {
    api,
    kube: connectKube(await loadKubeconfig(api.kubeconfig), { log }),
    url: api.url,
    kubeconfig: api.kubeconfig,
    faults: {
      async setUnreachable(on) {
        api.faults.unreachable = on
        if (on) api.closeConnections()
      },
      setConflicts(on) {
        api.faults.conflicts = on
      },
      compact() {
        api.store.compact()
        api.closeConnections()
      },
    },
    setPodLogs: api.setPodLogs,
  }
}
