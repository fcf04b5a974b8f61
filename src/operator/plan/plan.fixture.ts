/**
 * Test fixtures of the planner: subnets, VMs, ports, delivered nodes, and an observed state of them.
 */
import type { Interface } from '../../contract/interfaces.ts'
import type { Port, Subnet } from '../cloud.ts'
import type { DeliveredNode, Observed, Vm } from './observed-state.ts'
import type { Plan } from './plan.ts'

export const storage: Subnet = { id: 'storage', name: 'storage', networkId: 'net-s', cidr: '10.1.0.0/24', routes: [] }
export const backup: Subnet = { id: 'backup', name: 'backup', networkId: 'net-b', cidr: '10.2.0.0/24', routes: [] }
export const baseline = Date.parse('2026-11-15T01:00:00Z')
export const me = 'ns/main'

/** Port `n` has address .n, a MAC address that ends in n, and was created n minutes after the baseline. */
export function aPort(n: number, more: Partial<Port> & { subnet?: Subnet } = {}): Port {
  const { subnet = storage, ...rest } = more
  const address = subnet.cidr.replace('0/24', String(n))
  return {
    id: `port-${n}`,
    networkId: subnet.networkId,
    macAddress: `fa:16:3e:00:00:${n.toString(16).padStart(2, '0')}`,
    status: 'ACTIVE',
    serverId: 'vm-1',
    owner: 'compute:nova',
    addresses: [{ subnetId: subnet.id, address }],
    createdAt: new Date(baseline + n * 60_000).toISOString(),
    ...rest,
  }
}

/** A port in a subnet that is not selected. */
export function outside(n: number, more: Partial<Port> = {}): Port {
  return aPort(n, { addresses: [{ subnetId: 'elsewhere', address: `10.9.0.${n}` }], networkId: 'net-x', ...more })
}

export function aNic(n: number, index: number, more: Partial<Interface> = {}): Interface {
  const { macAddress, networkId } = aPort(n)
  return {
    index,
    name: `multinic${index}`,
    portId: `port-${n}`,
    macAddress,
    address: `10.1.0.${n}`,
    cidr: '10.1.0.0/24',
    networkId,
    subnetId: 'storage',
    source: me,
    ...more,
  }
}

export function aNode(interfaces: Interface[], more: Partial<DeliveredNode> = {}): DeliveredNode {
  return { nodeName: 'worker-1', instanceId: 'vm-1', specHash: 'delivered', generation: 1, interfaces, ...more }
}

export const vm1: Vm = { entry: 'vm-1', id: 'vm-1', state: 'found', name: 'worker-1' }
export const vm2: Vm = { entry: 'vm-2', id: 'vm-2', state: 'found', name: 'worker-2' }

export function observed(more: Partial<Observed> = {}): Observed {
  return {
    source: me,
    isNew: false,
    rules: { allowedStatuses: ['ACTIVE', 'DOWN'], owners: ['compute:*'], baseline },
    subnets: [storage, backup],
    subnetNames: {},
    networks: new Map(),
    vms: [vm1],
    nodesWithoutVm: [],
    ports: [],
    delivered: [],
    portChecks: new Map(),
    claims: [],
    removalsApproved: false,
    resolvedNames: {},
    resolvedSubnets: {},
    reservedIndexes: [],
    deletedVms: new Map(),
    removalsOnHold: [],
    ...more,
  }
}

/** The plan as one line per action, verdict, missing port and removal on hold. */
export function planText({ nodes, verdicts, missingPorts, uncheckedVms, removalsOnHold }: Plan): string[] {
  return [
    ...nodes
      .filter(({ action }) => action !== 'keep')
      .map(({ action, nodeName, interfaces }) =>
        [action, nodeName, ...interfaces.map(nic => `${nic.index}=${nic.portId}`)].join(' '),
      ),
    ...verdicts
      .filter(({ reason }) => reason !== 'Selected')
      .map(({ portId, vm, reason }) => `${portId ?? vm} ${reason}`),
    ...missingPorts.map(({ portId, vmId }) => `check ${portId} of ${vmId}`),
    ...uncheckedVms.map(vmId => `check ${vmId}`),
    ...removalsOnHold.map(text => `hold ${text}`),
  ]
}

export const one = aNode([aNic(1, 0)])
export const detached = (...ns: number[]) => new Map(ns.map(n => [`port-${n}`, 'detached' as const]))
