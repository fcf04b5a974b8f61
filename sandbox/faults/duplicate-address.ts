/**
 * Another host on the network with the same addresses as a node: a namespace with a link to each subnet.
 */
import type { Port } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { bridgeOf, type Fabric, fabricLinkOf } from '../nodes/fabric.ts'
import type { SandboxNode } from '../nodes/node.ts'

export interface DuplicateHost {
  /** Adds the addresses of this port. */
  addAddresses(port: Port): Promise<void>
  remove(): Promise<void>
}

export async function addDuplicateHost(state: StateDir, fabric: Fabric, node: SandboxNode): Promise<DuplicateHost> {
  const namespace = `${state.prefix}not-${node.name}`
  const { machine } = fabric
  await machine.addNamespace(namespace)
  const links = new Map<string, string>()
  let queue: Promise<void> = Promise.resolve()

  async function addNow(port: Port): Promise<void> {
    for (const { subnetId, ipAddress } of port.fixedIps) {
      const name = links.get(subnetId) ?? `eth${links.size}`
      if (!links.has(subnetId)) {
        const peer = fabricLinkOf(`${namespace} ${subnetId}`)
        await machine.ip(fabric.namespace, [
          `link add ${peer} type veth peer name ${name} netns ${namespace}`,
          `link set ${peer} master ${bridgeOf(subnetId)} up`,
        ])
        await machine.ip(namespace, [`link set ${name} up`])
        links.set(subnetId, name)
      }
      const v6 = ipAddress.includes(':')
      await machine.ip(namespace, [`addr add ${ipAddress}/${v6 ? '128 nodad' : '32'} dev ${name}`])
    }
  }

  return {
    addAddresses: port => {
      queue = queue.catch(() => {}).then(() => addNow(port))
      return queue
    },
    remove: () => machine.removeNamespace(namespace),
  }
}
