/**
 * Data of `status`: provider → OpenstackConfig → node → NIC. Pure.
 *
 * A NIC belongs to the OpenstackConfig that requested it, so a node of two of them appears under both.
 */
import { addressesOf } from '../contract/interfaces.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import type { OpenstackConfig } from '../contract/openstack-config.ts'

export interface NicView {
  name: string
  status: string
  macAddress: string
  addresses: string[]
  mtu?: number
  portId?: string
  link?: string
  reason?: string
  message?: string
  remedy?: string
}

export interface NodeView {
  nodeName: string
  instanceId: string
  state: string
  updatedAt: string
  reason?: string
  message?: string
  remedy?: string
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
    heldRemovals: string[]
  }
  nodes: NodeView[]
}

export interface ProviderView {
  providerId: string
  states: Record<string, number>
  configs: ConfigView[]
}

export function statusOf(
  records: readonly InventoryRecord[],
  configs: readonly OpenstackConfig[] = [],
): ProviderView[] {
  const ids = [...records.map(({ providerId }) => providerId), ...configs.map(providerIdOf)]
  return [...new Set(ids)].sort().map(providerId => {
    const nodes = records.filter(record => record.providerId === providerId)
    const known = configs.filter(config => providerIdOf(config) === providerId)
    return { providerId, states: countsOf(nodes.map(stateOf)), configs: configsOf(nodes, known) }
  })
}

function configsOf(records: readonly InventoryRecord[], known: readonly OpenstackConfig[]): ConfigView[] {
  const byName = new Map(known.map(config => [nameOf(config), config]))
  const names = [...byName.keys(), ...records.flatMap(sourcesOf)]
  return [...new Set(names)].sort(emptyLast).map(name => {
    const config = byName.get(name)
    return {
      ...(name !== '' && { name }),
      ...(config && { state: configState(config) }),
      nodes: records.filter(record => sourcesOf(record).includes(name)).map(record => nodeView(record, name)),
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

function nodeView(record: InventoryRecord, source: string): NodeView {
  const { nodeName, instanceId, updatedAt } = record
  const interfaces = nicViews(record, nic => (nic.source ?? '') === source)
  return { nodeName, instanceId, state: stateOf(record), updatedAt, ...whyOf(record), interfaces }
}

type WireNic = InventoryRecord['config']['interfaces'][number]

/** Requested and observed state of each interface. */
export function nicViews(record: InventoryRecord, among: (nic: WireNic) => boolean = () => true): NicView[] {
  return record.config.interfaces.flatMap((nic, at) => {
    if (!among(nic)) return []
    const is = stateOfNic(record, nic)
    const { macAddress, mtu, portId } = nic
    const link = is?.observed?.link
    return [
      {
        name: nic.name ?? `multinic${nic.id ?? at}`,
        status: is?.status ?? 'Pending',
        macAddress,
        addresses: addressesOf(defined(nic)),
        ...defined({ mtu, portId, link }),
        ...whyOf(is ?? {}),
      },
    ]
  })
}

export function stateOfNic(record: InventoryRecord, nic: { portId?: string | undefined; macAddress: string }) {
  return record.interfaces?.find(
    one => (nic.portId !== undefined && one.portId === nic.portId) || one.macAddress === nic.macAddress.toLowerCase(),
  )
}

export function stateOf({ state, config }: InventoryRecord): string {
  return state ?? (config.interfaces.length === 0 ? 'Empty' : 'Pending')
}

interface Why {
  reason?: string | undefined
  message?: string | undefined
  remedy?: string | undefined
}

function whyOf({ reason, message, remedy }: Why) {
  return defined({ reason, message, remedy })
}

function configState({ status, metadata }: OpenstackConfig): NonNullable<ConfigView['state']> {
  const conditions = status?.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')
  const current = status?.observedGeneration === metadata.generation
  const problems = conditions
    .filter(({ type, status }) => (type === 'Degraded' ? status === 'True' : type !== 'Ready' && status === 'False'))
    .map(({ type, reason, message }) => ({ type, ...defined({ reason, message }) }))
  return {
    ready: !ready || !current ? 'notSynced' : ready.status === 'True' ? 'ready' : 'notReady',
    ...defined({
      reason: ready?.reason,
      message: ready?.message,
      ports: status?.ports?.summary,
      skipped: status?.ports?.skipped,
      lastSyncedAt: status?.lastSyncedAt,
    }),
    problems,
    heldRemovals: status?.heldRemovals ?? [],
  }
}

function providerIdOf({ spec: { credentials } }: OpenstackConfig): string {
  return credentials.k8sProviderID || credentials.openstackProviderID
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
function defined<T extends object>(object: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
