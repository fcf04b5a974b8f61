/**
 * Decides what a write changes: nothing, or a new record with its kind of change and the events of its interfaces.
 *
 * Pure: the record before, the write and the time go in.
 */
import { fromWireInterfaces, toWireInterface, type WireInterface } from '../contract/interfaces.ts'
import { type HistoryEntry, type InventoryRecord, type InventoryWrite, stages } from '../contract/inventory.ts'
import { equalJson } from '../contract/json.ts'

export type InterfaceRecord = NonNullable<InventoryRecord['interfaces']>[number]

export interface InterfaceEvent {
  mac: string
  portId?: string
  what: string
  reason?: string
  at: string
}

export interface Change {
  what: HistoryEntry['what']
  before?: InventoryRecord
  after?: InventoryRecord
  /** False when only times of checks moved: worth keeping, not worth telling. */
  told: boolean
  delivered: boolean
  events: InterfaceEvent[]
}

export function planWrite(before: InventoryRecord | undefined, write: InventoryWrite, at: string): Change | undefined {
  if (write.removed) return before && { what: 'removed', before, told: true, delivered: false, events: [] }

  const after = recordOf(before, write, at)
  if (!before)
    return { what: 'created', after, told: true, delivered: true, events: eventsBetween(undefined, after, at) }
  if (equalJson(withoutTime(before), withoutTime(after))) return undefined

  const what = equalJson(wanted(before), wanted(after)) ? 'status' : 'config'
  const told = !equalJson(withoutChecks(before), withoutChecks(after))
  return {
    what,
    before,
    after,
    told,
    delivered: before.lastConfigHash !== after.lastConfigHash,
    events: eventsBetween(before, after, at),
  }
}

/** Field by field: nothing that a caller adds beside the contract gets in. */
function recordOf(before: InventoryRecord | undefined, write: InventoryWrite, at: string): InventoryRecord {
  const interfaces = interfacesOf(write.config.interfaces)
  const known = new Map((before?.interfaces ?? []).map(one => [keyOf(one), one]))
  const present = new Set(interfaces.map(({ macAddress }) => macAddress))
  // A write that says nothing of states (a delivery) leaves those of the interfaces that stay.
  const states =
    write.interfaces ?? (before?.interfaces ?? []).filter(({ macAddress }) => present.has(macAddress ?? ''))
  const were = new Map((before?.config.interfaces ?? []).map(nic => [keyOf(nic), nic]))
  const are = new Map(interfaces.map(nic => [keyOf(nic), nic]))
  const isAsBefore = (key: string) => equalJson(were.get(key), are.get(key))
  const statuses = states.map(one => interfaceOf(one, known.get(keyOf(one)), isAsBefore(keyOf(one))))
  const instanceId = write.config.instanceId ?? write.instanceId
  return {
    providerId: write.providerId,
    nodeName: write.nodeName,
    instanceId: write.instanceId,
    config: { nodeName: write.config.nodeName, ...(instanceId ? { instanceId } : {}), interfaces },
    lastConfigHash: write.lastConfigHash,
    updatedAt: at,
    ...(write.state ? { state: write.state } : {}),
    ...(write.reason ? { reason: write.reason } : {}),
    ...(write.message ? { message: write.message } : {}),
    ...(statuses.length > 0 ? { interfaces: statuses } : {}),
  }
}

function interfacesOf(written: InventoryWrite['config']['interfaces']): WireInterface[] {
  return fromWireInterfaces(written).map(toWireInterface)
}

function interfaceOf(
  given: InterfaceRecord,
  before: InterfaceRecord | undefined,
  isAsBefore: boolean,
): InterfaceRecord {
  const passed = passedBy(given, before, isAsBefore)
  return {
    ...pick(given, ['id', 'name', 'portId', 'macAddress', 'status', 'reason', 'message', 'lastConfigured']),
    ...pick(given, ['lastChecked', 'observed']),
    ...(given.macAddress ? { macAddress: given.macAddress.toLowerCase() } : {}),
    ...(Object.keys(passed).length > 0 ? { stages: passed } : {}),
  }
}

type Stages = NonNullable<InterfaceRecord['stages']>
const onNode = ['applied', 'verified'] as const

/**
 * A stage that was passed stays passed until a later time is told for it: a restarted writer has forgotten it.
 *
 * The agent's run for one interface looks at its siblings too and tells new times for all of them. Those of an interface
 * that is as it was, and was not in trouble, stay: they are the times of its own work. One that is asked for anew has them
 * still before it.
 */
function passedBy(given: InterfaceRecord, before: InterfaceRecord | undefined, isAsBefore: boolean): Stages {
  const known = before?.stages ?? {}
  if (!isAsBefore) return { ...without(known, onNode), ...given.stages }
  return { ...known, ...given.stages, ...(before?.status === 'Failed' ? {} : pick(known, onNode)) }
}

function eventsBetween(before: InventoryRecord | undefined, after: InventoryRecord, at: string): InterfaceEvent[] {
  const known = new Map((before?.interfaces ?? []).map(one => [keyOf(one), one]))
  return (after.interfaces ?? []).flatMap(nic => {
    const old = known.get(keyOf(nic))
    const of = { mac: nic.macAddress ?? '', ...(nic.portId ? { portId: nic.portId } : {}) }
    const passed = stages.flatMap((stage): InterfaceEvent[] => {
      const time = nic.stages?.[stage]
      const known = old?.stages?.[stage]
      if (!time || time === known) return []
      return [{ ...of, what: `stage/${stage}`, at: time }]
    })
    const moved = nic.status !== undefined && (nic.status !== old?.status || nic.reason !== old?.reason)
    const state = { ...of, what: `status/${nic.status}`, ...(nic.reason ? { reason: nic.reason } : {}), at }
    return moved ? [...passed, state] : passed
  })
}

function keyOf({ portId, macAddress }: { portId?: string | undefined; macAddress?: string | undefined }): string {
  return portId ?? macAddress?.toLowerCase() ?? ''
}

function wanted({ instanceId, config, lastConfigHash }: InventoryRecord): unknown {
  return { instanceId, config, lastConfigHash }
}

function withoutTime(record: InventoryRecord): object {
  return { ...record, updatedAt: undefined }
}

function withoutChecks(record: InventoryRecord): object {
  return {
    ...withoutTime(record),
    interfaces: record.interfaces?.map(nic => ({
      ...nic,
      lastChecked: undefined,
    })),
  }
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter(key => from[key] !== undefined).map(key => [key, from[key]])) as Pick<T, K>
}

function without<T extends object, K extends keyof T>(from: T, keys: readonly K[]): T {
  return Object.fromEntries(Object.entries(from).filter(([key]) => !keys.includes(key as K))) as T
}
