/**
 * A real kubelet for a node of the sandbox, with containerd and runc. The rig of the cluster runs it.
 */
import type { Kubelet } from '../nodes/kubelet.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { Rig } from './rig.ts'

/** Resolves when the node is Ready. */
export async function startRealKubelet(rig: Pick<Rig<unknown>, 'call'>, node: SandboxNode): Promise<Kubelet> {
  const { name, namespace: netns, root, address, server } = node
  const info = () => ({ name, uuid: server.id, bootID: node.bootID, netns, root, address })
  await rig.call('addKubelet', info())
  return {
    // A real API server reads logs from the kubelet.
    logFile: () => undefined,
    async reboot() {
      await rig.call('powerOffKubelet', name)
      await node.reboot()
      await rig.call('powerOnKubelet', info())
    },
    async stop() {
      await rig.call('removeKubelet', info())
    },
  }
}
