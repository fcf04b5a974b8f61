/**
 * Data of `status`: provider → OpenstackConfig → node → NIC. Pure.
 *
 * A NIC belongs to the OpenstackConfig that requested it, so a node of two of them appears under both.
 */
import { type Comparison, comparisonsOf } from '../contract/deviations.ts'
import { addressesOf } from '../contract/interfaces.ts'
import type { Deviation, InventoryRecord } from '../contract/inventory.ts'
import { type Observation, observationOf } from '../contract/observation.ts'
import { type OpenstackConfig, providerIdOf } from '../contract/openstack-config.ts'
import { providerNameIn } from '../contract/provider-name.ts'

/** Why something is as it is, and what to do. */
export interface Explained {
  reason?: string | undefined
  message?: string | undefined
  remedy?: string | undefined
}

/** What was requested, whether it is applied, what was observed, and when. */
export interface NicView extends Observation, Explained {
  name: string
  status: string
  macAddress: string
  addresses: string[]
  mtu?: number
  portId?: string
  subnetName?: string
  subnetId?: string
  networkName?: string
  networkId?: string
  alias?: string
  link?: string
  pending?: Deviation['pending']
  differences: Deviation['differences']
}

export interface NodeView extends Explained {
  nodeName: string
  instanceId: string
  instanceName?: string
  state: string
  updatedAt: string
  interfaces: NicView[]
}

export interface ConfigView {
  /** namespace/name. Absent for nodes without a known OpenstackConfig. */
  name?: string
  /** Only if the cluster was read. */
  state?: {
    ready: 'ready' | 'notReady' | 'notSynced'
    reason?: string
    message?: string
    problems: { type: string; reason?: string; message?: string }[]
    ports?: string
    skipped?: Record<string, number>
    lastSyncedAt?: string
    /** Since when it is being deleted. */
    deletedAt?: string
    heldRemovals: string[]
  }
  nodes: NodeView[]
}

export interface ProviderView {
  providerId: string
  providerName?: string
  states: Record<string, number>
  configs: ConfigView[]
}

export function statusOf(
  records: readonly InventoryRecord[],
  now: Date,
  configs: readonly OpenstackConfig[] = [],
): ProviderView[] {
  const ids = [...records.map(({ providerId }) => providerId), ...configs.map(providerIdOf)]
  return [...new Set(ids)].sort().map(providerId => {
    const nodes = records.filter(record => record.providerId === providerId)
    const known = configs.filter(config => providerIdOf(config) === providerId)
    const names = { providerId, ...defined({ providerName: providerNameIn(nodes) }) }
    return { ...names, states: countsOf(nodes.map(stateOf)), configs: configsOf(nodes, now, known) }
  })
}

function configsOf(records: readonly InventoryRecord[], now: Date, known: readonly OpenstackConfig[]): ConfigView[] {
  const byName = new Map(known.map(config => [nameOf(config), config]))
  const names = [...byName.keys(), ...records.flatMap(sourcesOf)]
  return [...new Set(names)].sort(emptyLast).map(name => {
    const config = byName.get(name)
    return {
      ...(name !== '' && { name }),
      ...(config && { state: configState(config) }),
      nodes: records.filter(record => sourcesOf(record).includes(name)).map(record => nodeView(record, now, name)),
    }
  })
}

/** The empty name stands for interfaces without a source. */
function sourcesOf({ config }: InventoryRecord): string[] {
  const sources = config.interfaces.map(({ source }) => source ?? '')
  return sources.length === 0 ? [''] : [...new Set(sources)]
}

function emptyLast(a: string, b: string): number {
  if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1
  return a < b ? -1 : 1
}

function nodeView(record: InventoryRecord, now: Date, source: string): NodeView {
  const { nodeName, instanceId, instanceName, updatedAt } = record
  const interfaces = nicViews(record, now, nic => (nic.source ?? '') === source)
  const names = { nodeName, instanceId, ...defined({ instanceName }) }
  return { ...names, state: stateOf(record), updatedAt, ...whyOf(record), interfaces }
}

type WireNic = InventoryRecord['config']['interfaces'][number]

export function nicViews(record: InventoryRecord, now: Date, among: (nic: WireNic) => boolean = () => true): NicView[] {
  return comparisonsOf(record)
    .filter(({ requested }) => among(requested))
    .map(comparison => nicView(comparison, now))
}

export function nicView({ requested, state, differences }: Comparison, now: Date): NicView {
  const { name, macAddress, mtu, portId, subnetName, subnetId, networkName, networkId, alias } = requested
  return {
    name,
    status: state?.status ?? 'Pending',
    macAddress,
    addresses: addressesOf(requested),
    ...defined({ mtu, portId, link: state?.observed?.link, pending: state?.pending }),
    ...defined({ subnetName, subnetId, networkName, networkId, alias }),
    ...whyOf(state ?? {}),
    differences,
    ...observationOf(state ?? {}, now),
  }
}

export function stateOf({ state, config }: InventoryRecord): string {
  return state ?? (config.interfaces.length === 0 ? 'Empty' : 'Pending')
}

function whyOf({ reason, message, remedy }: Explained) {
  return defined({ reason, message, remedy })
}

const badIfTrue = new Set(['Degraded', 'RemovalHeld', 'RemovalPending'])

function configState({ status, metadata }: OpenstackConfig): NonNullable<ConfigView['state']> {
  const conditions = status?.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')
  const current = status?.observedGeneration === metadata.generation
  const problems = conditions
    .filter(({ type, status, reason }) =>
      badIfTrue.has(type) ? status === 'True' : type !== 'Ready' && reason !== 'Healthy' && status === 'False',
    )
    .map(({ type, reason, message }) => ({ type, ...defined({ reason, message }) }))
  return {
    ready: !ready || !current ? 'notSynced' : ready.status === 'True' ? 'ready' : 'notReady',
    ...defined({
      reason: ready?.reason,
      message: ready?.message,
      ports: status?.ports?.summary,
      skipped: status?.ports?.skipped,
      lastSyncedAt: status?.lastSyncedAt,
      deletedAt: metadata.deletionTimestamp,
    }),
    problems,
    heldRemovals: status?.heldRemovals ?? [],
  }
}

function nameOf({ metadata: { namespace, name } }: OpenstackConfig): string {
  return `${namespace}/${name}`
}

function countsOf(states: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const state of [...states].sort()) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

/** Drops keys without a value. */
export function defined<T extends object>(object: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
