/**
 * Provider → OpenstackConfig → node → NIC, as data: what `status` shows. Pure.
 *
 * A NIC belongs to the OpenstackConfig that it comes from, so a node of two of them is seen under both.
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
  /** namespace/name; absent for nodes of which nobody said where they come from. */
  name?: string
  /** Only where the cluster was asked. */
  told?: {
    ready: string
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
  const told = new Map(known.map(config => [nameOf(config), config]))
  const names = [...told.keys(), ...records.flatMap(sourcesOf)]
  return [...new Set(names)].sort(emptyLast).map(name => {
    const config = told.get(name)
    return {
      ...(name !== '' && { name }),
      ...(config && { told: toldOf(config) }),
      nodes: records.filter(record => sourcesOf(record).includes(name)).map(record => nodeView(record, name)),
    }
  })
}

/** The empty name is a source too: that of what nobody claims. */
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

type Wanted = InventoryRecord['config']['interfaces'][number]

/** What was asked for and what is, side by side. */
export function nicViews(record: InventoryRecord, among: (nic: Wanted) => boolean = () => true): NicView[] {
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
        addresses: addressesOf(given(nic)),
        ...given({ mtu, portId, link }),
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
  return given({ reason, message, remedy })
}

function toldOf({ status, metadata }: OpenstackConfig): NonNullable<ConfigView['told']> {
  const conditions = status?.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')
  const current = status?.observedGeneration === metadata.generation
  const problems = conditions
    .filter(({ type, status }) => (type === 'Degraded' ? status === 'True' : type !== 'Ready' && status === 'False'))
    .map(({ type, reason, message }) => ({ type, ...given({ reason, message }) }))
  return {
    ready: !ready || !current ? 'not synced yet' : ready.status === 'True' ? 'Ready' : 'not ready',
    ...given({
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

function countsOf(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of [...words].sort()) counts[word] = (counts[word] ?? 0) + 1
  return counts
}

/** Without the keys that have no value. */
function given<T extends object>(object: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
