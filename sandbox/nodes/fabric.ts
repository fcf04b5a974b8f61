/**
 * The network between the nodes: a namespace with a bridge and the gateway address for each subnet, so that all NICs of a
 * subnet reach each other and their gateway.
 */
import { createHash } from 'node:crypto'
import { parseCidr } from '../../src/contract/address.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import { type Machine, namespaceMachine } from './machine.ts'

export interface FabricSubnet {
  id: string
  cidr: string
  gatewayIp: string | null
  mtu: number
}

export interface Nic {
  portId: string
  subnetId: string
  macAddress: string
  mtu: number
  /** Name on the node. */
  name: string
}

export interface Fabric {
  readonly machine: Machine
  readonly namespace: string
  addSubnet(subnet: FabricSubnet): Promise<void>
  /** Adds a NIC to a node: DOWN and unconfigured, like a hot-plugged one. */
  plug(node: string, nic: Nic): Promise<void>
  unplug(portId: string): Promise<void>
  remove(): Promise<void>
}

/** Nothing listens on this address, but it answers: a connection of a node to its API server is refused instead of timing out. */
export const serviceAddress = '10.96.0.1'

export async function createFabric(state: StateDir, machine: Machine = namespaceMachine(state)): Promise<Fabric> {
  const namespace = `${state.prefix}fabric`
  await machine.addNamespace(namespace)
  await machine.ip(namespace, [`addr add ${serviceAddress}/32 dev lo`])
  return {
    machine,
    namespace,
    async addSubnet({ id, cidr, gatewayIp, mtu }) {
      const bridge = bridgeOf(id)
      await machine.ip(namespace, [
        `link add ${bridge} type bridge`,
        ...(gatewayIp ? [`addr add ${gatewayIp}/${parseCidr(cidr)?.prefix} dev ${bridge}`] : []),
        `link set ${bridge} mtu ${mtu} up`,
      ])
    },
    plug: (node, { portId, subnetId, macAddress, mtu, name }) =>
      machine.ip(namespace, [
        `link add ${fabricLinkOf(portId)} mtu ${mtu} type veth peer name ${name} address ${macAddress} netns ${node}`,
        `link set ${fabricLinkOf(portId)} master ${bridgeOf(subnetId)} up`,
      ]),
    unplug: portId => machine.ip(namespace, [`link delete ${fabricLinkOf(portId)}`]),
    remove: () => machine.removeNamespace(namespace),
  }
}

export function bridgeOf(subnetId: string): string {
  return `br-${shortHash(subnetId)}`
}

/** The end of a NIC in the fabric. */
export function fabricLinkOf(portId: string): string {
  return `p-${shortHash(portId)}`
}

function shortHash(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 11)
}
