/**
 * The two clusters of a sandbox, management and Biz: APIs of our own, unless real ones are asked for.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { type KubeApi, startKubeApi } from '../kube/server.ts'
import type { StateDir } from './state-dir.ts'

export interface Cluster {
  /** Of a simulated cluster; a real one has none and says so. */
  readonly api: KubeApi
  kube: KubeClient
  url: string
  kubeconfig: string
  faults: ClusterFaults
  podLogs: KubeApi['podLogs']
}

/** What the API server of a cluster can be made to do. */
export interface ClusterFaults {
  away(on: boolean): Promise<void>
  conflicts(on: boolean): void
  /** Forgets what happened, and ends all watches. */
  compact(): void
}

export interface Clusters {
  management: Cluster
  biz: Cluster
  close(): Promise<void>
}

/** Those that are kept go on from their objects. */
export async function openClusters(state: StateDir, log: Log, kept = false): Promise<Clusters> {
  const open = (name: string) => openCluster(state, name, log, kept)
  const [management, biz] = await Promise.all([open('management'), open('biz')])
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

async function openCluster(state: StateDir, name: string, log: Log, kept: boolean): Promise<Cluster> {
  const dir = state.path(name)
  await mkdir(dir, { recursive: true })
  const api = await startKubeApi({ name, dir, log, ...(kept && { snapshot: join(dir, 'objects.json') }) })
  return {
    api,
    kube: connectKube(await loadKubeconfig(api.kubeconfig), { log }),
    url: api.url,
    kubeconfig: api.kubeconfig,
    faults: {
      async away(on) {
        api.faults.away = on
        if (on) api.cut()
      },
      conflicts(on) {
        api.faults.conflicts = on
      },
      compact() {
        api.store.compact()
        api.cut()
      },
    },
    podLogs: api.podLogs,
  }
}
