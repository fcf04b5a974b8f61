/**
 * The two clusters of a sandbox with real services: etcd, and a kube-apiserver and kube-controller-manager each.
 */
import { connectKube } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { namespaces } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import type { Cluster, Clusters } from '../lifecycle/clusters.ts'
import { sandboxNamespace } from '../lifecycle/components.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { startRealKubelet } from './kubelet.ts'
import { type Rig, startRig } from './rig.ts'

const agentAccount = 'multinic-agent-job'
const serviceAccounts: Resource = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

type RigInfo = Record<'management' | 'biz', { url: string; kubeconfig: string }>

export async function startRealClusters(state: StateDir, log: Log): Promise<Clusters> {
  const rig = await startRig<RigInfo>('kubernetes', state)
  const [management, biz] = await Promise.all([realCluster(rig, 'management', log), realCluster(rig, 'biz', log)])
  const close = async () => {
    await Promise.all([management.kube.close(), biz.kube.close()])
    await rig.stop()
  }
  try {
    await installAccount(biz)
  } catch (error) {
    await close()
    throw error
  }
  return { management, biz, startKubelet: node => startRealKubelet(rig, node), close }
}

/** A real API server rejects Pods whose ServiceAccount does not exist; in production the chart installs the one of the agent. */
async function installAccount({ kube }: Cluster): Promise<void> {
  const options = { fieldManager: 'multinic-sandbox', force: true }
  const v1 = { apiVersion: 'v1' } as const
  await kube.apply(namespaces, { ...v1, kind: 'Namespace', metadata: { name: sandboxNamespace } }, options)
  const metadata = { name: agentAccount, namespace: sandboxNamespace }
  await kube.apply(serviceAccounts, { ...v1, kind: 'ServiceAccount', metadata }, options)
}

async function realCluster(rig: Rig<RigInfo>, name: 'management' | 'biz', log: Log): Promise<Cluster> {
  const { url, kubeconfig } = rig.info[name]
  return {
    get api(): never {
      throw new Error('a real cluster has no simulated API')
    },
    url,
    kubeconfig,
    kube: connectKube(await loadKubeconfig(kubeconfig), { log }),
    faults: {
      setUnreachable: async on => {
        await rig.call(on ? 'stopApiServer' : 'startApiServer', name)
      },
      // Refused before: ../faults/unavailable.ts
      setConflicts: () => {},
      compact: () => {},
    },
    // A real API server reads logs from the kubelet, and the simulated kubelet has no HTTP server.
    setPodLogs: () => {},
  }
}
