/**
 * Another machine on the wire that has the addresses of a node's NICs: a namespace with a cable to each subnet.
 */

import type { Port } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { bridgeOf, cableOf, type Fabric } from '../nodes/fabric.ts'
import type { SandboxNode } from '../nodes/node.ts'

export interface Intruder {
  /** From now on it has the addresses of this port too. */
  take(port: Port): Promise<void>
  remove(): Promise<void>
}

export async function addIntruder(state: StateDir, fabric: Fabric, node: SandboxNode): Promise<Intruder> {
  const namespace = `${state.prefix}not-${node.name}`
  const { machine } = fabric
  await machine.addNamespace(namespace)
  const cables = new Map<string, string>()
  let work: Promise<void> = Promise.resolve()

  async function takeNow(port: Port): Promise<void> {
    for (const { subnetId, ipAddress } of port.fixedIps) {
      const name = cables.get(subnetId) ?? `eth${cables.size}`
      if (!cables.has(subnetId)) {
        const end = cableOf(`${namespace} ${subnetId}`)
        await machine.ip(fabric.namespace, [
          `link add ${end} type veth peer name ${name} netns ${namespace}`,
          `link set ${end} master ${bridgeOf(subnetId)} up`,
        ])
        await machine.ip(namespace, [`link set ${name} up`])
        cables.set(subnetId, name)
      }
      const v6 = ipAddress.includes(':')
      await machine.ip(namespace, [`addr add ${ipAddress}/${v6 ? '128 nodad' : '32'} dev ${name}`])
    }
  }

  return {
    take: port => {
      work = work.catch(() => {}).then(() => takeNow(port))
      return work
    },
    remove: () => machine.removeNamespace(namespace),
  }
}
