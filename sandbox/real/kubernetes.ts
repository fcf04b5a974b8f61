/**
 * The two clusters of a sandbox on real parts: etcd, and a kube-apiserver and kube-controller-manager each.
 */
import { connectKube } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { namespaces } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import type { Cluster, Clusters } from '../lifecycle/clusters.ts'
import { sandboxNamespace } from '../lifecycle/components.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { type Rig, startRig } from './rig.ts'

const agentAccount = 'multinic-agent-job'
const serviceAccounts: Resource = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

interface Place {
  url: string
  kubeconfig: string
}

type Told = Record<'management' | 'biz', Place>

export async function openRealClusters(state: StateDir, log: Log): Promise<Clusters> {
  const rig = await startRig<Told>('kubernetes', state)
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
  return { management, biz, close }
}

/** Real admission lets no Pod in whose ServiceAccount is not there; the chart installs the agent's. */
async function installAccount({ kube }: Cluster): Promise<void> {
  const options = { fieldManager: 'multinic-sandbox', force: true }
  const v1 = { apiVersion: 'v1' } as const
  await kube.apply(namespaces, { ...v1, kind: 'Namespace', metadata: { name: sandboxNamespace } }, options)
  const metadata = { name: agentAccount, namespace: sandboxNamespace }
  await kube.apply(serviceAccounts, { ...v1, kind: 'ServiceAccount', metadata }, options)
}

async function realCluster(rig: Rig<Told>, name: 'management' | 'biz', log: Log): Promise<Cluster> {
  const { url, kubeconfig } = rig.told[name]
  const refuse = (word: string) => {
    throw new Error(`${word}: these clusters are real ones, which cannot be told to do that`)
  }
  return {
    get api(): never {
      throw new Error('this cluster is a real one')
    },
    url,
    kubeconfig,
    kube: connectKube(await loadKubeconfig(kubeconfig), { log }),
    faults: {
      away: async on => {
        await rig.call(on ? 'away' : 'back', name)
      },
      conflicts: () => refuse('conflicts'),
      compact: () => refuse('compacted-watches'),
    },
    // It asks the kubelet itself, and ours has no door for that.
    podLogs: () => {},
  }
}
