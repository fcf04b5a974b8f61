/**
 * Plans a write: the new record, the kind of change and the events of its interfaces, or undefined without a change. Pure.
 */
import type { InterfaceRecord } from '../contract/deviations.ts'
import { interfaceHash } from '../contract/interface-hash.ts'
import { fromWireInterfaces, nameFields, toWireInterface, type WireInterface } from '../contract/interfaces.ts'
import { type HistoryEntry, type InventoryRecord, type InventoryWrite, stages } from '../contract/inventory.ts'
import { equalJson } from '../contract/json.ts'
import { isRetry } from './retries.ts'
import { mergeStages, type StageRecord } from './stages.ts'

export interface InterfaceEvent {
  macAddress: string
  portId?: string
  what: string
  reason?: string
  at: string
}

export interface Change {
  what: HistoryEntry['what']
  before?: InventoryRecord
  after?: InventoryRecord
  /** False if only names, the times of checks or the place in an agent rollout changed, or a failed node is retried: that is stored but is no history entry. */
  inHistory: boolean
  delivered: boolean
  /** What the search finds differs: the request, or a name alone. */
  searchable: boolean
  events: InterfaceEvent[]
}

/** `recorded` is the last record in the history. Default: `before`. */
export function planWrite(
  before: InventoryRecord | undefined,
  write: InventoryWrite,
  at: string,
  recorded?: InventoryRecord,
): Change | undefined {
  if (write.removed)
    return before && { what: 'removed', before, inHistory: true, delivered: false, searchable: true, events: [] }

  const after = recordOf(before, write, at)
  if (!before)
    return {
      ...{ what: 'created', after, inHistory: true, delivered: true, searchable: true },
      events: eventsBetween(undefined, after, at),
    }
  if (equalJson(withoutTime(before), withoutTime(after))) return undefined

  const searchable = !equalJson(requestOf(before), requestOf(after))
  const [unnamedBefore, unnamedAfter] = searchable ? [withoutNames(before), withoutNames(after)] : [before, after]
  const isSame = !searchable || equalJson(requestOf(unnamedBefore), requestOf(unnamedAfter))
  const what = isSame ? 'status' : 'config'
  const isKnown = what === 'status' && isRetry(recorded ?? before, after)
  const inHistory = !isKnown && !equalJson(withoutChecks(unnamedBefore), withoutChecks(unnamedAfter))
  return {
    what,
    before,
    after,
    inHistory,
    delivered: before.lastConfigHash !== after.lastConfigHash,
    searchable,
    events: eventsBetween(before, after, at),
  }
}

/** Copies field by field, so that no field outside the contract is stored. */
function recordOf(before: InventoryRecord | undefined, write: InventoryWrite, at: string): InventoryRecord {
  const interfaces = interfacesOf(write.config.interfaces)
  const known = byKey(before?.interfaces)
  const present = new Set<string | undefined>(interfaces.map(({ macAddress }) => macAddress))
  // A delivery has no states: interfaces that remain keep theirs.
  const states = write.interfaces ?? before?.interfaces?.filter(({ macAddress }) => present.has(macAddress)) ?? []
  const requestedBefore = byKey(before?.config.interfaces)
  const requestedNow = byKey(interfaces)
  const knownOf = (key: string): StageRecord =>
    isSameRequest(requestedBefore.get(key), requestedNow.get(key)) ? (known.get(key) ?? {}) : {}
  const statuses = states.map(one => interfaceOf(one, knownOf(keyOf(one)), at))
  const instanceId = write.config.instanceId ?? write.instanceId
  return {
    providerId: write.providerId,
    ...(write.providerName ? { providerName: write.providerName } : {}),
    nodeName: write.nodeName,
    instanceId: write.instanceId,
    ...(write.instanceName ? { instanceName: write.instanceName } : {}),
    config: {
      nodeName: write.config.nodeName,
      ...(instanceId ? { instanceId } : {}),
      interfaces,
      ...(write.config.requested && { requested: interfacesOf(write.config.requested) }),
    },
    lastConfigHash: write.lastConfigHash,
    updatedAt: at,
    ...(write.state ? { state: write.state } : {}),
    ...(write.reason ? { reason: write.reason } : {}),
    ...(write.message ? { message: write.message } : {}),
    ...(write.agentRollout ? { agentRollout: write.agentRollout } : {}),
    ...(statuses.length > 0 ? { interfaces: statuses } : {}),
  }
}

function interfacesOf(written: InventoryWrite['config']['interfaces']): WireInterface[] {
  return fromWireInterfaces(written).map(toWireInterface)
}

/** For the agent: an interface that another object takes over is the same request. */
function isSameRequest(a: WireInterface | undefined, b: WireInterface | undefined): boolean {
  if (!a || !b) return a === b
  if (equalJson(a, b)) return true
  const [before, now] = fromWireInterfaces([a, b]).map(interfaceHash)
  return before === now
}

function interfaceOf(given: InterfaceRecord, known: StageRecord, at: string): InterfaceRecord {
  return {
    ...pick(given, ['id', 'name', 'portId', 'status', 'reason', 'message', 'lastConfigured']),
    ...pick(given, ['lastChecked', 'checkIntervalSeconds', 'specHash', 'observed']),
    ...(given.pending && { pending: pick(given.pending, ['reason', 'message']) }),
    ...(given.macAddress ? { macAddress: given.macAddress.toLowerCase() } : {}),
    ...mergeStages(known, given.stages, at),
  }
}

function eventsBetween(before: InventoryRecord | undefined, after: InventoryRecord, at: string): InterfaceEvent[] {
  const known = byKey(before?.interfaces)
  const events = after.interfaces?.flatMap(nic => {
    const old = known.get(keyOf(nic))
    const of = { macAddress: nic.macAddress ?? '', ...(nic.portId ? { portId: nic.portId } : {}) }
    const passed = stages.flatMap((stage): InterfaceEvent[] => {
      const time = nic.stages?.[stage]
      const known = old?.stages?.[stage]
      if (!time || time === known) return []
      return [{ ...of, what: `stage/${stage}`, at: time }]
    })
    const isStateKnown = nic.status === undefined || (nic.status === old?.status && nic.reason === old.reason)
    const state = { ...of, what: `status/${nic.status}`, ...(nic.reason ? { reason: nic.reason } : {}), at }
    return isStateKnown ? passed : [...passed, state]
  })
  return events ?? []
}

interface Identified {
  portId?: string | undefined
  macAddress?: string | undefined
}

function byKey<T extends Identified>(interfaces: readonly T[] | undefined): Map<string, T> {
  return new Map(interfaces?.map(one => [keyOf(one), one]))
}

function keyOf({ portId, macAddress }: Identified): string {
  return portId ?? macAddress?.toLowerCase() ?? ''
}

function requestOf({ providerName, instanceId, instanceName, config, lastConfigHash }: InventoryRecord): unknown {
  return { providerName, instanceId, instanceName, config, lastConfigHash }
}

/** A rename is stored and is no change of the node. */
function withoutNames({ providerName: _, instanceName: __, config, ...record }: InventoryRecord): InventoryRecord {
  const absent = Object.fromEntries(Object.values(nameFields).map(name => [name, undefined]))
  const strip = (nics: WireInterface[]) => nics.map(nic => ({ ...nic, ...absent }))
  const { interfaces, requested } = config
  return {
    ...record,
    config: { ...config, interfaces: strip(interfaces), ...(requested && { requested: strip(requested) }) },
  }
}

function withoutTime(record: InventoryRecord): object {
  return { ...record, updatedAt: undefined }
}

function withoutChecks(record: InventoryRecord): object {
  return {
    ...withoutTime(record),
    agentRollout: undefined,
    interfaces: record.interfaces?.map(nic => ({
      ...nic,
      lastChecked: undefined,
      checkIntervalSeconds: undefined,
    })),
  }
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter(key => from[key] !== undefined).map(key => [key, from[key]])) as Pick<T, K>
}
