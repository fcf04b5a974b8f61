/**
 * The network between the nodes: one namespace with a bridge and the gateway's address for each subnet, so that all NICs of a
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
  /** Of the port: what the NIC is unplugged by. */
  portId: string
  subnetId: string
  mac: string
  mtu: number
  /** In the guest. */
  name: string
}

export interface Fabric {
  /** What it and the nodes on it are made of. */
  readonly machine: Machine
  readonly namespace: string
  addSubnet(subnet: FabricSubnet): Promise<void>
  /** Puts the NIC into a guest: DOWN and without any configuration, as a hot-plugged one is. */
  plug(guest: string, nic: Nic): Promise<void>
  unplug(portId: string): Promise<void>
  remove(): Promise<void>
}

/** Nothing listens there, but packets arrive: a node's way to its API server ends with a refusal, not in silence. */
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
    plug: (guest, { portId, subnetId, mac, mtu, name }) =>
      machine.ip(namespace, [
        `link add ${cableOf(portId)} mtu ${mtu} type veth peer name ${name} address ${mac} netns ${guest}`,
        `link set ${cableOf(portId)} master ${bridgeOf(subnetId)} up`,
      ]),
    unplug: portId => machine.ip(namespace, [`link delete ${cableOf(portId)}`]),
    remove: () => machine.removeNamespace(namespace),
  }
}

export function bridgeOf(subnetId: string): string {
  return `br-${short(subnetId)}`
}

/** The fabric's end of a NIC. */
export function cableOf(portId: string): string {
  return `p-${short(portId)}`
}

function short(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 11)
}
