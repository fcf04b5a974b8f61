/**
 * Records and verdicts for the inventory: the latest state of each node and the verdicts of each object, sent only if they
 * differ from what was sent last.
 */
import { createHash } from 'node:crypto'
import type { AuditWrite } from '../../contract/audit.ts'
import { type Interface, type InterfaceNames, nameFields, withoutNames } from '../../contract/interfaces.ts'
import { type InventoryRecord, type InventoryWrite, maxWrites } from '../../contract/inventory.ts'
import { equalJson } from '../../contract/json.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Log } from '../../telemetry/log.ts'
import { type DeliveredNode, identityOf } from '../plan/observed-state.ts'
import type { NodePlan } from '../plan/plan.ts'
import { inventoryBatches, type PendingWrite } from './inventory-batches.ts'
import { hasJob, type NodeRef, namesOf, recordOf, type Stages } from './inventory-record.ts'
import { putAudit, putBatch } from './refused-batches.ts'
import { type ObjectVerdicts, verdictChanges } from './verdict-changes.ts'

export interface Recorder {
  /** One transaction. */
  put(writes: InventoryWrite[], verdicts: VerdictWrite[], audit: AuditWrite[]): Promise<unknown>
  /** The records of a provider. */
  list(providerId: string): Promise<InventoryRecord[]>
}

export interface NoteOptions {
  /** What the node should have, if the delivery failed. */
  requested?: readonly Interface[] | undefined
  /** The cluster has no other node config of its VM. A VM gets another node if it has another name when it is delivered again. */
  isOnlyNode?: boolean
}

export interface Records {
  /** A port was found that is not delivered yet. */
  noteSeen(providerId: string, portId: string): void
  /** Viola accepted these changed interfaces. `stored`: it also confirmed that the cluster has them. */
  noteDelivered(providerId: string, nics: readonly Interface[], stored: boolean): void
  /** The names of a node and of the interfaces of `source`, as the cloud has them now. The cluster has those of the delivery. */
  noteNames(providerId: string, plan: NodePlan, source: string): void
  /** The node as it is in the cluster now. */
  note(providerId: string, node: DeliveredNode, why: string, more?: NoteOptions): void
  /** The node's last interfaces are being removed. */
  noteRemoving(providerId: string, node: NodeRef, why: string): void
  /** The node has no interfaces of MultiNIC any more. */
  noteGone(providerId: string, node: NodeRef, why: string): void
  /** Somebody asked for something. Sent with the next records. */
  noteAudit(entry: AuditWrite): void
  /**
   * Sends the records and the verdicts of the object that differ. If the inventory is unreachable, the next sync sends them.
   * Reports whether all were sent. Calls for one object must not overlap.
   */
  flush(log: Log, object?: ObjectVerdicts): Promise<boolean>
  /** Another replica may have written since: everything is sent again. */
  restart(): void
}

/** How often verdicts are sent to an inventory that forbids them. The right may come meanwhile. */
const unstoredRetryMs = 60_000

/** Stage times and names of more ports are dropped, oldest first. The inventory stores them. */
const maxEntries = 100_000
/** While the inventory is unreachable. The log has all. */
const maxAuditEntries = 5_000

export function createRecords(recorder: Pick<Recorder, 'put'> | undefined, now: () => Date): Records {
  const stages = new Map<string, Stages>()
  /** By provider and node, the last plan of each OpenstackConfig: it has the newest names. */
  const plans = new Map<string, Map<string, NodePlan>>()
  const timestamp = timestampsOf(now)
  const sent = new Map<string, string>()
  /** By OpenstackConfig: the verdicts that the inventory has. */
  const stored = new Map<string, ObjectVerdicts>()
  /** When the inventory forbade one. */
  let unstoredAt = Number.NEGATIVE_INFINITY
  /** The nodes as they were noted last. */
  const noted = new Map<string, { node: DeliveredNode; isOnlyNode: boolean }>()
  let pending = new Map<string, PendingWrite & { providerId: string; digest: string }>()
  /** The nodes that a flush is sending, until it ends. */
  const flights = new Map<ReadonlyMap<string, unknown>, Promise<void>>()
  let audit: AuditWrite[] = []

  /** The node with the newest names. */
  const named = (providerId: string, node: DeliveredNode): DeliveredNode => {
    const known = plans.get(`${providerId} ${node.nodeName}`)
    if (!known) return node
    const instanceName = [...known.values()].findLast(plan => plan.instanceName)?.instanceName
    return {
      ...node,
      ...(instanceName !== undefined && { instanceName }),
      interfaces: node.interfaces.map(nic => {
        const planned = interfaceIn(known.get(nic.source ?? ''), nic)
        return !planned || haveSameNames(planned, nic) ? nic : { ...withoutNames(nic), ...namesIn(planned) }
      }),
    }
  }
  const add = (build: () => InventoryWrite) => {
    const write = build()
    const key = `${write.providerId} ${write.nodeName}`
    if (write.reason === 'Removing' || write.removed) noted.delete(key)
    const digest = digestOf(write)
    if (sent.get(key) !== digest)
      pending.set(key, { providerId: write.providerId, instanceId: write.instanceId, build, digest })
    else pending.delete(key)
  }
  /** Undefined if they are not to be sent now. */
  function changesOf(object: ObjectVerdicts | undefined): Iterable<VerdictWrite> | undefined {
    // The clock may be set back.
    if (!object || Math.abs(now().getTime() - unstoredAt) < unstoredRetryMs) return undefined
    const known = stored.get(object.config)
    const isSame = known?.providerId === object.providerId && equalJson(known.verdicts, object.verdicts)
    if (isSame && equalJson(known.plan, object.plan)) return []
    return verdictChanges(object, known)
  }
  const flightOfPending = () => [...flights].find(([writes]) => [...pending.keys()].some(key => writes.has(key)))?.[1]
  const withoutInterfaces = (providerId: string, node: NodeRef, { nodeName, instanceId = '' } = node) => ({
    ...namesOf(providerId, node),
    config: { nodeName, ...(instanceId !== '' && { instanceId }), interfaces: [] },
    lastConfigHash: '',
  })

  return {
    noteSeen(providerId, portId) {
      const key = `${providerId} ${portId}`
      const known = stages.get(key)
      // A port that was delivered before was detached meanwhile.
      if (known?.seen === undefined || known.delivered !== undefined) setBounded(stages, key, { seen: timestamp() })
    },
    noteDelivered(providerId, nics, stored) {
      const at = timestamp()
      for (const nic of nics) {
        const key = `${providerId} ${identityOf(nic)}`
        const known = stages.get(key)
        const seen = (known?.delivered === undefined && known?.seen) || at
        setBounded(stages, key, { seen, delivered: at, ...(stored && { cr: at }) })
      }
    },
    noteNames(providerId, plan, source) {
      const key = `${providerId} ${plan.nodeName}`
      const known = plans.get(key) ?? new Map<string, NodePlan>()
      const before = known.get(source)
      known.set(source, plan)
      setBounded(plans, key, known)
      if (!before || !haveSameNodeNames(before, plan)) noted.delete(key)
    },
    note(providerId, node, why, { requested, isOnlyNode = false } = {}) {
      const key = `${providerId} ${node.nodeName}`
      const known = noted.get(key)
      const isNoted = known?.isOnlyNode === isOnlyNode && equalJson(known.node, node)
      if (isNoted && !pending.has(key) && !requested) return
      if (requested) noted.delete(key)
      else noted.set(key, { node, isOnlyNode })
      if (hasJob(node))
        for (const nic of node.interfaces) {
          const key = `${providerId} ${identityOf(nic)}`
          const known = stages.get(key)
          if (known?.job === undefined) setBounded(stages, key, { ...known, job: timestamp() })
        }
      const stagesOf = (nic: Interface) => stages.get(`${providerId} ${identityOf(nic)}`)
      add(() => ({
        ...recordOf(providerId, named(providerId, node), stagesOf, why, requested),
        ...(isOnlyNode && { onlyNode: true }),
      }))
    },
    noteRemoving(providerId, node, why) {
      add(() => ({ ...withoutInterfaces(providerId, node), state: 'Pending', reason: 'Removing', why }))
    },
    noteGone(providerId, node, why) {
      plans.delete(`${providerId} ${node.nodeName}`)
      add(() => ({ ...withoutInterfaces(providerId, node), removed: true, why }))
    },
    noteAudit(entry) {
      if (recorder) audit = [...audit, entry].slice(-maxAuditEntries)
    },
    async flush(log, object) {
      if (!recorder) return true
      // An older record of a node must not arrive, or be sent again, after a newer one that another object sends.
      for (let flight = flightOfPending(); flight; flight = flightOfPending()) await flight
      const writes = pending
      pending = new Map()
      let unsent = audit
      audit = []
      const ended = Promise.withResolvers<void>()
      flights.set(writes, ended.promise)
      try {
        let isStored = true
        const forbidden = new Set<string>()
        const changes = changesOf(object)
        for (const batch of inventoryBatches(writes.values(), changes ?? [])) {
          await giveWay()
          const answer = await putBatch((...content) => recorder.put(...content, []), batch, log, forbidden)
          if (batch.verdicts.length > 0) isStored &&= answer
        }
        for (const [key, one] of writes) {
          if (!forbidden.has(one.providerId)) sent.set(key, one.digest)
          else if (!pending.has(key)) pending.set(key, one)
        }
        for (; unsent.length > 0; unsent = unsent.slice(maxWrites))
          await putAudit(entries => recorder.put([], [], entries), unsent.slice(0, maxWrites), log)
        if (!object || !changes) return forbidden.size === 0
        // Also equal ones: the next sync usually has the same list, which compares at once.
        if (isStored && object.verdicts) stored.set(object.config, object)
        else stored.delete(object.config)
        if (!isStored) unstoredAt = now().getTime()
        return forbidden.size === 0
      } catch (error) {
        for (const [key, one] of writes) if (!pending.has(key)) pending.set(key, one)
        audit = [...unsent, ...audit].slice(-maxAuditEntries)
        // Some may be stored.
        if (object) stored.delete(object.config)
        log.warn('cannot write to the inventory', { nodes: writes.size, error })
        return false
      } finally {
        flights.delete(writes)
        ended.resolve()
      }
    },
    restart() {
      sent.clear()
      noted.clear()
      stored.clear()
    },
  }
}

function setBounded<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= maxEntries) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

function interfaceIn(plan: NodePlan | undefined, nic: Interface): Interface | undefined {
  return plan?.interfaces.find(one => identityOf(one) === identityOf(nic))
}

const names = Object.keys(nameFields) as (keyof InterfaceNames)[]

function namesIn(nic: Interface): InterfaceNames {
  return Object.fromEntries(names.flatMap(name => (nic[name] === undefined ? [] : [[name, nic[name]]])))
}

function haveSameNames(a: Interface, b: Interface): boolean {
  return names.every(name => a[name] === b[name])
}

function haveSameNodeNames(before: NodePlan, plan: NodePlan): boolean {
  if (before.instanceName !== plan.instanceName) return false
  return plan.interfaces.every(nic => {
    const old = interfaceIn(before, nic)
    return old !== undefined && haveSameNames(old, nic)
  })
}

/** Formats each millisecond once: thousands of ports are seen in the same one. */
function timestampsOf(now: () => Date): () => string {
  let last = { ms: Number.NaN, text: '' }
  return () => {
    const ms = now().getTime()
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() }
    return last.text
  }
}

/** `why` does not count. One function builds all records, so their keys have the same order. */
function digestOf({ why: _, ...record }: InventoryWrite): string {
  return createHash('sha256').update(JSON.stringify(record)).digest('base64')
}
