/**
 * A large realistic inventory for the dashboard: nodes of several providers, most of them configured, some with errors.
 */
import type { InventoryWrite, Stage } from '../../src/contract/inventory.ts'
import type { VerdictWrite } from '../../src/contract/operator-api.ts'
import type { Verdict } from '../../src/operator/plan/verdicts.ts'
import { verdictChanges } from '../../src/operator/record/verdict-changes.ts'

export interface FleetOptions {
  nodes: number
  /** Time of the write; all stages are earlier. */
  now: Date
}

type Interface = InventoryWrite['config']['interfaces'][number]
type State = NonNullable<InventoryWrite['interfaces']>[number]

const subnets = [
  { cidr: '10.20.0.0/18', mtu: 9000 },
  { cidr: '10.21.0.0/18', mtu: 9000 },
  { cidr: '10.30.0.0/18', mtu: 1500 },
  { cidr: '10.40.0.0/18', mtu: 1500 },
  { cidr: '10.50.0.0/18', mtu: 1500 },
  { cidr: '10.60.0.0/18', mtu: 1450 },
  { cidr: '10.70.0.0/18', mtu: 1450 },
  { cidr: '10.80.0.0/18', mtu: 1450 },
] as const

const providers = ['biz-prod-a', 'biz-prod-b', 'biz-data', 'biz-edge', 'biz-lab']
const shares = [0.5, 0.78, 0.93, 0.985, 1]

/** Errors by node number; all other nodes are configured. */
const errors: Record<number, [nic: number, make: (state: State, nic: Interface) => State]> = {
  17: [
    1,
    (state, nic) => ({
      ...state,
      status: 'Failed',
      reason: 'Drifted',
      message: `mtu is 1500, requested ${nic.mtu}`,
      observed: { ...state.observed, mtu: 1500 },
    }),
  ],
  42: [2, state => failed(state, 'CarriesDefaultRoute', 'the device carries the default route of the node')],
  142: [0, state => failed(state, 'VerifyFailed', 'the device does not have the address after apply')],
  201: [1, state => waiting(state, 'NicMissing', 'no device has this MAC address')],
  333: [
    0,
    state => ({
      ...stagesUpTo(state, 'job'),
      status: 'InProgress',
      reason: 'Applying',
      message: 'the agent applies the configuration',
    }),
  ],
  334: [1, state => ({ ...stagesUpTo(state, 'delivered'), status: 'InProgress' })],
  55: [0, state => ({ ...state, pending: { reason: 'Paused', message: 'the annotation multinic.io/paused is set' } })],
  77: [1, state => ({ ...state, lastChecked: state.lastConfigured, checkIntervalSeconds: 60 })],
  88: [0, state => ({ ...state, stages: { ...state.stages, job: '2026-01-01T00:00:00.000Z' } })],
  512: [0, state => waiting(state, 'RolloutWaiting', 'other nodes come first in the rollout')],
}

export function aFleet({ nodes, now }: FleetOptions): InventoryWrite[] {
  return Array.from({ length: nodes }, (_, index) => aNode(index + 1, nodes, now))
}

export interface FleetWrites {
  at: Date
  writes: InventoryWrite[]
}

const hour = 3_600_000
const attachTimes = 56

/** Writes of two weeks, oldest first: new nodes, an address that moved to another node, and the errors of today. */
export function aFleetHistory({ nodes, now }: FleetOptions): FleetWrites[] {
  const all = aFleet({ nodes, now })
  const byTime = Map.groupBy(all.entries(), ([index]) => attachedAt(index + 1, now))
  const attachments = [...byTime].map(([at, writes]) => ({
    at: new Date(at),
    writes: writes.map(([, write]) => write),
  }))
  const failing = all.filter((_, index) => errors[index + 1] !== undefined)
  const before = [14 * 24 * hour, 6 * 24 * hour].map((ago, part) => ({
    at: new Date(now.getTime() - ago),
    writes: failing.flatMap(write => stateBefore(write, part === 0)),
  }))
  return [...(nodes < 100 ? [] : before), ...attachments].sort((a, b) => a.at.getTime() - b.at.getTime())
}

/** One of a few times, some hours apart; minutes ago for a node with an error. */
function attachedAt(number: number, now: Date): number {
  if (errors[number] !== undefined) return now.getTime() - ((number % 7) * 11 + 4) * 60_000
  const part = (number * 7_919) % attachTimes
  return now.getTime() - (part + 1) * 6 * hour + ((part * 7) % 5) * hour
}

/** A node with an error was configured before; at first, some had an address that another node has today. */
function stateBefore(write: InventoryWrite, atFirst: boolean): InventoryWrite[] {
  const [first, second] = write.config.interfaces
  if (!first || !second) return []
  const states = write.interfaces?.slice(0, 2).map(({ id, name, portId, macAddress }) => ({
    ...{ id, name, portId, macAddress },
    status: 'Configured' as const,
  }))
  return [
    {
      ...write,
      config: { ...write.config, interfaces: [first, { ...second, ...(atFirst && { address: oldAddress(write) }) }] },
      lastConfigHash: idOf(`before ${atFirst} ${write.nodeName}`),
      state: 'Configured',
      reason: 'Configured',
      interfaces: states,
      why: atFirst ? '2 ports attached' : 'address of a port changed',
    },
  ]
}

/** Worker 42 had the address that worker 17 has today. */
function oldAddress({ nodeName }: InventoryWrite): string {
  return nodeName.endsWith('042') ? '10.21.0.17' : `10.21.99.${Number(nodeName.slice(-2))}`
}

/** As the operator writes them. */
export function verdictWritesOf(writes: readonly InventoryWrite[]): VerdictWrite[] {
  const object = { config: 'multinic-system/production', providerId: 'biz-prod-a', verdicts: verdictsOf(writes) }
  return [...verdictChanges(object, undefined)]
}

/** Verdicts of the operator: one for each interface, and some for ignored ports. */
export function verdictsOf(writes: readonly InventoryWrite[]): Verdict[] {
  const skipped: readonly [reason: Verdict['reason'], message: string][] = [
    ['PortTooOld', 'the port was created at 2026-10-01T08:12:44Z'],
    ['PortStatusNotAllowed', 'the status of the port is BUILD'],
    ['NotSelected', 'the port has no address in a selected subnet'],
    ['DeviceOwnerNotAllowed', 'the device owner of the port is network:dhcp'],
  ]
  const of = (write: InventoryWrite, count: number) =>
    skipped.slice(0, count).map(([reason, message]) => ({
      portId: idOf(`skipped ${reason} ${write.nodeName}`),
      vm: write.instanceId,
      reason,
      message,
    }))
  return writes.flatMap((write, index) => [
    ...write.config.interfaces.map(nic => ({
      ...(nic.portId && { portId: nic.portId }),
      vm: write.instanceId,
      reason: 'Selected' as const,
      message: `the port is ${nic.name}`,
      ...(nic.name && { name: nic.name }),
    })),
    ...of(write, index === 16 ? skipped.length : index % 97 === 5 ? 1 + (index % 3) : 0),
  ])
}

function aNode(number: number, of: number, now: Date): InventoryWrite {
  const share = number / of
  const providerId = providers[shares.findIndex(limit => share <= limit)] ?? 'biz-prod-a'
  const nodeName = `worker-${String(number).padStart(String(of).length, '0')}`
  const instanceId = idOf(`vm ${number}`)
  const count = 2 + ((number * 7) % 5) + (number % 11 === 0 ? 2 : 0)
  const interfaces = subnets.slice(0, count).map((subnet, id) => interfaceOf(number, id, subnet))
  const states = interfaces.map((nic, id) => {
    const state = stateOf(nic, number * 31 + id, attachedAt(number, now), now)
    const [wrong, make] = errors[number] ?? []
    return wrong === id && make ? make(state, nic) : state
  })
  const unconfigured = states.find(({ status }) => status !== 'Configured')
  return {
    providerId,
    nodeName,
    instanceId,
    config: { nodeName, instanceId, interfaces },
    lastConfigHash: idOf(`hash ${number}`),
    state: unconfigured?.status === 'Removed' ? 'Pending' : (unconfigured?.status ?? 'Configured'),
    reason: unconfigured ? (unconfigured.reason ?? 'Applying') : 'Configured',
    interfaces: states,
    why: `${count} ports attached`,
  }
}

function interfaceOf(number: number, id: number, { cidr, mtu }: (typeof subnets)[number]): Interface {
  const hex = (byte: number) => byte.toString(16).padStart(2, '0')
  const [a, b] = cidr.split('.')
  return {
    id,
    name: `multinic${id}`,
    portId: idOf(`port ${number} ${id}`),
    macAddress: `fa:16:3e:${hex(id * 16 + 5)}:${hex(number >> 8)}:${hex(number & 255)}`,
    address: `${a}.${b}.${number >> 8}.${number & 255}`,
    cidr,
    mtu,
    networkId: idOf(`network ${cidr}`),
    subnetId: idOf(`subnet ${cidr}`),
    source: 'multinic-system/production',
  }
}

const stageTimes: readonly [Stage, number][] = [
  ['seen', 0],
  ['delivered', 480],
  ['cr', 300],
  ['job', 1_400],
  ['applied', 900],
  ['verified', 450],
]

function stateOf(nic: Interface, seed: number, until: number, now: Date): State {
  const spread = 0.6 + ((seed * 7919) % 100) / 90
  let time = until - 8_000
  const stages: State['stages'] = {}
  for (const [stage, ms] of stageTimes) {
    time += ms * spread
    stages[stage] = new Date(time).toISOString()
  }
  return {
    id: nic.id,
    name: nic.name,
    portId: nic.portId,
    macAddress: nic.macAddress,
    status: 'Configured',
    lastConfigured: stages.verified,
    lastChecked: new Date(now.getTime() - 20_000).toISOString(),
    checkIntervalSeconds: 5_000,
    observed: {
      name: nic.name,
      ifindex: 5 + (nic.id ?? 0),
      mtu: nic.mtu,
      addresses: [`${nic.address}/18`],
      link: 'up',
    },
    stages,
  }
}

function stagesUpTo(state: State, last: Stage): State {
  const { observed: _, lastConfigured: __, ...rest } = state
  const end = stageTimes.findIndex(([stage]) => stage === last)
  const kept = stageTimes.slice(0, end + 1).map(([stage]) => [stage, state.stages?.[stage]])
  return { ...rest, stages: Object.fromEntries(kept) as State['stages'] }
}

function failed(state: State, reason: string, message: string): State {
  return { ...stagesUpTo(state, 'job'), status: 'Failed', reason, message }
}

function waiting(state: State, reason: string, message: string): State {
  return { ...stagesUpTo(state, 'cr'), status: 'Pending', reason, message }
}

/** Looks like a UUID and depends only on the text. */
function idOf(text: string): string {
  let hash = 0x811c9dc5
  const hex = Array.from({ length: 4 }, (_, round) => {
    for (const letter of `${round}${text}`) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
    return hash.toString(16).padStart(8, '0')
  }).join('')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-a$4-$5')
}
