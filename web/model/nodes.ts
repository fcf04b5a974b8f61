/**
 * Records of the inventory as the screens show them: every NIC with one look, every node with its worst. Pure.
 */
import type { Deviation, InventoryRecord, Stage } from '../../src/contract/inventory.ts'
import { networkOf, withPrefix } from './subnets.ts'

/** Worst first: the order of every list. */
export const looks = ['bad', 'drift', 'held', 'pend', 'prog', 'rem', 'ok'] as const
export type Look = (typeof looks)[number]

export const slots = 10

type Wanted = InventoryRecord['config']['interfaces'][number]
type State = NonNullable<InventoryRecord['interfaces']>[number]
export type Differences = Deviation['differences']

export interface Nic {
  slot: number
  name: string
  look: Look
  mac: string
  portId: string
  /** With its prefix. */
  address: string
  addresses: string[]
  network: string
  subnetId: string
  networkId: string
  mtu: number | undefined
  gateway: string
  routes: { destination: string; nexthop: string }[]
  source: string
  reason: string
  message: string
  remedy: string
  stages: Partial<Record<Stage, string>>
  checked: string | undefined
  observed: State['observed']
  differences: Differences
}

export interface Node {
  /** Unique among all providers. */
  key: string
  providerId: string
  nodeName: string
  instanceId: string
  updatedAt: string
  nics: Nic[]
  /** Undefined for a node without NICs of ours. */
  worst: Look | undefined
}

export const nodeKey = (providerId: string, nodeName: string) => `${providerId} ${nodeName}`

export function nodeOf(record: InventoryRecord, deviations: readonly Deviation[]): Node {
  const { providerId, nodeName, instanceId, updatedAt } = record
  const nics = record.config.interfaces.map((wanted, index) => nicOf(record, wanted, index, deviations))
  const gone = (record.interfaces ?? [])
    .filter(state => state.status !== 'Removed' && !nics.some(nic => sameNic(nic, state)))
    .map((state, index) => leaving(state, nics.length + index))
  const all = [...nics, ...gone].sort((a, b) => a.slot - b.slot)
  return {
    key: nodeKey(providerId, nodeName),
    providerId,
    nodeName,
    instanceId,
    updatedAt,
    nics: all,
    worst: worstOf(all),
  }
}

export function worstOf(nics: readonly { look: Look }[]): Look | undefined {
  return looks.find(look => nics.some(nic => nic.look === look))
}

function sameNic({ portId, mac }: { portId: string; mac: string }, state: State): boolean {
  return (portId !== '' && state.portId === portId) || state.macAddress?.toLowerCase() === mac
}

function nicOf(record: InventoryRecord, wanted: Wanted, index: number, deviations: readonly Deviation[]): Nic {
  const slot = wanted.id ?? numberIn(wanted.name) ?? index
  const name = wanted.name ?? `multinic${slot}`
  const [mac, portId] = [wanted.macAddress.toLowerCase(), wanted.portId ?? '']
  const state = record.interfaces?.find(each => sameNic({ portId, mac }, each))
  const differences = deviations.find(each => each.interface === name)?.differences ?? []
  const addresses = [...new Set([...withPrefix(wanted.address, wanted.cidr), ...(wanted.addresses ?? [])])]
  // What holds the whole node holds each of its NICs that has nothing to say for itself.
  const told = state?.reason ? state : record.state === 'Configured' || state?.status === 'Configured' ? {} : record
  return {
    slot,
    name,
    look: lookOf(state?.status, told.reason, differences),
    mac,
    portId,
    address: addresses[0] ?? '',
    addresses,
    network: networkOf(wanted.cidr ?? addresses[0] ?? ''),
    subnetId: wanted.subnetId ?? '',
    networkId: wanted.networkId ?? '',
    mtu: wanted.mtu,
    gateway: wanted.gateway ?? '',
    routes: wanted.routes ?? [],
    source: wanted.source ?? '',
    reason: told.reason ?? '',
    message: told.message ?? '',
    remedy: told.remedy ?? '',
    stages: state?.stages ?? {},
    checked: state?.lastChecked ?? state?.lastConfigured,
    observed: state?.observed,
    differences,
  }
}

/** An interface that nobody wants any more and that is still there. */
function leaving(state: State, index: number): Nic {
  const slot = state.id ?? numberIn(state.name) ?? index
  const address = state.observed?.addresses?.[0] ?? ''
  return {
    slot,
    name: state.name ?? `multinic${slot}`,
    look: state.reason === 'RemovalHeld' ? 'held' : state.status === 'Failed' ? 'bad' : 'rem',
    mac: state.macAddress?.toLowerCase() ?? '',
    portId: state.portId ?? '',
    address,
    addresses: state.observed?.addresses ?? [],
    network: networkOf(address),
    subnetId: '',
    networkId: '',
    mtu: state.observed?.mtu,
    gateway: '',
    routes: [],
    source: '',
    reason: state.reason ?? '',
    message: state.message ?? '',
    remedy: state.remedy ?? '',
    stages: state.stages ?? {},
    checked: state.lastChecked,
    observed: state.observed,
    differences: [],
  }
}

export function lookOf(status: State['status'], reason = '', differences: Differences = []): Look {
  if (reason === 'RemovalHeld') return 'held'
  if (status === 'Removed' || reason === 'Removing') return 'rem'
  if (status === 'Failed') return 'bad'
  if (status === 'InProgress') return 'prog'
  if (reason === 'Drifted' || (status === 'Configured' && differences.length > 0)) return 'drift'
  return status === 'Configured' ? 'ok' : 'pend'
}

function numberIn(name: string | undefined): number | undefined {
  const digit = /^multinic(\d)$/.exec(name ?? '')?.[1]
  return digit === undefined ? undefined : Number(digit)
}

export type Counts = Record<Look, number> & { nodes: number; nics: number }

export function countsOf(nodes: readonly Node[]): Counts {
  const counts: Counts = { bad: 0, drift: 0, held: 0, pend: 0, prog: 0, rem: 0, ok: 0, nodes: nodes.length, nics: 0 }
  for (const { nics } of nodes)
    for (const { look } of nics) {
      counts[look] += 1
      counts.nics += 1
    }
  return counts
}

export const needsPerson = (look: Look | undefined) => look === 'bad' || look === 'drift' || look === 'held'

const rank = new Map<Look | undefined, number>(looks.map((look, index) => [look, index]))
const inOrder = new Intl.Collator('en', { numeric: true }).compare

export function byName(a: Node, b: Node): number {
  return inOrder(a.nodeName, b.nodeName) || inOrder(a.providerId, b.providerId)
}

export function worstFirst(a: Node, b: Node): number {
  return (rank.get(a.worst) ?? looks.length) - (rank.get(b.worst) ?? looks.length) || byName(a, b)
}

export function newestFirst(a: Node, b: Node): number {
  return a.updatedAt === b.updatedAt ? byName(a, b) : a.updatedAt < b.updatedAt ? 1 : -1
}

/** Whether anything that a person would type is in the node or in one of its NICs. */
export function nodeHas(node: Node, text: string): boolean {
  const words = [node.nodeName, node.instanceId, node.providerId]
  const wanted = text.toLowerCase()
  return (
    words.some(word => word.toLowerCase().includes(wanted)) ||
    node.nics.some(nic =>
      [nic.address, nic.mac, nic.portId, nic.network, nic.name, nic.reason].some(word =>
        word.toLowerCase().includes(wanted),
      ),
    )
  )
}
