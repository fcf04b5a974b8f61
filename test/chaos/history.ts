/**
 * The history of one chaos run: user actions and faults, in an order that the seed determines. Pure.
 */
import { catalogue, type FaultName, faultNames } from '../../sandbox/faults/catalogue.ts'
import { indexesOf } from '../support/random.ts'

export type Action =
  | { action: 'attach'; port: string; vm: string; subnet: string }
  | { action: 'detach'; port: string }
  | { action: 'reboot'; vm: string }
  /** The MTU of a network changes. */
  | { action: 'mtu'; subnet: string; mtu: number }
  /** A port gets other addresses in its subnet. */
  | { action: 'addresses'; port: string; count: 1 | 2 }
  /** A subnet loses its gateway, or gets it again. */
  | { action: 'gateway'; subnet: string; enabled: boolean }
  /** A subnet gets this number of host routes. */
  | { action: 'routes'; subnet: string; count: number }
  | { action: 'rename'; vm: string; name: string }
  /** A user removes a VM from the OpenstackConfig, or adds it again. */
  | { action: 'exclude-vm' | 'include-vm'; vm: string }
  /** A user removes a subnet from the OpenstackConfig, or adds it again. */
  | { action: 'exclude-subnet' | 'include-subnet'; subnet: string }
  /** A user pauses or resumes a node config. */
  | { action: 'pause' | 'resume'; vm: string }
  /** A user deletes the Jobs of a node. */
  | { action: 'delete-jobs'; vm: string }
  /** A user lets the agent run again on every node. */
  | { action: 'rollout' }
  /** Somebody changes a NIC of a node by hand; `nic` counts those of the node. */
  | { action: 'drift'; vm: string; nic: number; edit: DriftEdit }
  /** The second replica of a component becomes the leader and loses the API server. */
  | { action: 'partition'; component: ReplicatedComponent; forMs: number }
  /** The clock of a component is wrong for some time. */
  | { action: 'clock'; component: ClockedComponent; offsetMs: number; forMs: number }
  | { action: 'fault'; fault: FaultName; vm?: string; forMs: number }

export const driftEdits = ['mtu', 'address', 'down', 'name', 'route'] as const
export type DriftEdit = (typeof driftEdits)[number]

/** Components with two replicas. */
export const replicatedComponents = ['operator', 'controller'] as const
export type ReplicatedComponent = (typeof replicatedComponents)[number]

export const clockedComponents = ['operator', 'viola', 'controller', 'second-operator', 'second-controller'] as const
export type ClockedComponent = (typeof clockedComponents)[number]

/** An action and the pause after it. */
export type Step = Action & { thenMs: number }

export interface HistoryOptions {
  steps: number
  vms: readonly string[]
  subnets: readonly string[]
  /** Each fault occurs once before any fault occurs again, and so does each kind of action except attach and detach. */
  faults: readonly FaultName[]
}

/** Ports per VM: below the limits of the cloud and of our interface indexes. */
const maxPorts = 8
const mtus = [1_400, 1_450, 1_500, 9_000]
const hour = 3_600_000
const jumps = [-24 * hour, -hour, hour, 24 * hour]

/** All faults of the sandbox; without a broker, those of the bus are excluded. */
export function faultsFor({ broker }: { broker: boolean }): FaultName[] {
  return faultNames.filter(fault => broker || !/notifications|broker/.test(fault))
}

export function historyOf(seed: number, { steps, vms, subnets, faults }: HistoryOptions): Step[] {
  const random = indexesOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T
  const attached = new Map<string, string>()
  const [excluded, excludedSubnets, paused] = [new Set<string>(), new Set<string>(), new Set<string>()]
  let ports = 0
  let names = 0
  let remainingFaults: FaultName[] = []
  let remainingOthers: (() => Action)[] = []

  const toggle = (set: Set<string>, vm: string): boolean => {
    const wasIncluded = set.delete(vm)
    if (!wasIncluded) set.add(vm)
    return wasIncluded
  }
  const takeOne = <T>(from: T[]): T => from.splice(below(from.length), 1)[0] as T
  const nextFault = (): FaultName => {
    if (remainingFaults.length === 0) remainingFaults = [...faults]
    return takeOne(remainingFaults)
  }
  const startFault = (): Action => {
    const fault = nextFault()
    return { action: 'fault', fault, ...(catalogue[fault].perNode && { vm: pick(vms) }), forMs: 500 + below(5_000) }
  }
  const attach = (): Action => {
    const vm = pick(vms)
    if ([...attached.values()].filter(owner => owner === vm).length >= maxPorts) return startFault()
    const port = `p${++ports}`
    attached.set(port, vm)
    return { action: 'attach', port, vm, subnet: pick(subnets) }
  }
  const detach = (): Action => {
    const port = pick([...attached.keys()])
    if (port === undefined) return attach()
    attached.delete(port)
    return { action: 'detach', port }
  }
  const changeAddresses = (): Action => {
    const port = pick([...attached.keys()])
    return port === undefined ? attach() : { action: 'addresses', port, count: pick([1, 2]) }
  }
  /** An OpenstackConfig names at least one VM and one subnet. */
  const excludeOrInclude = (): Action => {
    const vm = pick(vms)
    if (!excluded.has(vm) && excluded.size === vms.length - 1) return startFault()
    return { action: toggle(excluded, vm) ? 'include-vm' : 'exclude-vm', vm }
  }
  const changeSubnets = (): Action => {
    const subnet = pick(subnets)
    if (!excludedSubnets.has(subnet) && excludedSubnets.size === subnets.length - 1) return startFault()
    return { action: toggle(excludedSubnets, subnet) ? 'include-subnet' : 'exclude-subnet', subnet }
  }
  const pauseOrResume = (): Action => {
    const vm = pick(vms)
    return { action: toggle(paused, vm) ? 'resume' : 'pause', vm }
  }
  const shiftClock = (): Action => ({
    action: 'clock',
    component: pick(clockedComponents),
    offsetMs: pick(jumps),
    forMs: 1_000 + below(10_000),
  })
  const others: (() => Action)[] = [
    () => ({ action: 'reboot', vm: pick(vms) }),
    () => ({ action: 'mtu', subnet: pick(subnets), mtu: pick(mtus) }),
    changeAddresses,
    () => ({ action: 'gateway', subnet: pick(subnets), enabled: pick([true, false]) }),
    () => ({ action: 'routes', subnet: pick(subnets), count: below(3) }),
    () => ({ action: 'rename', vm: pick(vms), name: `renamed-${++names}` }),
    excludeOrInclude,
    changeSubnets,
    pauseOrResume,
    () => ({ action: 'delete-jobs', vm: pick(vms) }),
    () => ({ action: 'rollout' }),
    () => ({ action: 'drift', vm: pick(vms), nic: below(maxPorts), edit: pick(driftEdits) }),
    () => ({ action: 'partition', component: pick(replicatedComponents), forMs: 10_000 + below(15_000) }),
    shiftClock,
    shiftClock,
  ]
  const otherAction = (): Action => {
    if (remainingOthers.length === 0) remainingOthers = [...others]
    return takeOne(remainingOthers)()
  }
  const kinds: [weight: number, make: () => Action][] = [
    [8, attach],
    [4, detach],
    [18, startFault],
    [15, otherAction],
  ]
  const weighted = kinds.flatMap(([weight, make]) => Array<() => Action>(weight).fill(make))
  return Array.from({ length: steps }, () => ({ ...pick(weighted)(), thenMs: below(900) }))
}

/** Parts of a history that may fail too, the shortest first: each half, then all but a quarter, then all but one step. */
export function shorter(history: readonly Step[]): Step[][] {
  const without = (from: number, to: number) => [...history.slice(0, from), ...history.slice(to)]
  const cuts = (pieces: number) => {
    const size = Math.ceil(history.length / pieces)
    return Array.from({ length: pieces }, (_, index) => without(index * size, (index + 1) * size))
  }
  const candidates = [...cuts(2), ...cuts(4), ...(history.length <= 8 ? cuts(history.length) : [])]
  return candidates.filter(({ length }) => length > 0 && length < history.length)
}

export function describeStep({ thenMs, ...action }: Step): string {
  const fields = Object.entries(action).map(([key, value]) => (key === 'action' ? value : `${key}=${value}`))
  return `${fields.join(' ')} then ${thenMs} ms`
}
