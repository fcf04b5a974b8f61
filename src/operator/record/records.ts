/**
 * Records and verdicts for the inventory: the latest state of each node and the verdicts of each object, sent only if they
 * differ from what was sent last.
 */
import type { AuditWrite } from '../../contract/audit.ts'
import type { Interface } from '../../contract/interfaces.ts'
import { type InventoryRecord, type InventoryWrite, maxWrites } from '../../contract/inventory.ts'
import { equalJson } from '../../contract/json.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { NodePlan } from '../plan/plan.ts'
import { inventoryBatches, type PendingWrite } from './inventory-batches.ts'
import { type NodeRef, namesOf, recordOf } from './inventory-record.ts'
import { createNewestNames } from './newest-names.ts'
import { createOutbox } from './outbox.ts'
import { putAudit, putBatch } from './refused-batches.ts'
import { createStageTimes } from './stages.ts'
import { createStoredVerdicts } from './stored-verdicts.ts'
import type { ObjectVerdicts } from './verdict-changes.ts'

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

/** While the inventory is unreachable. The log has all. */
const maxAuditEntries = 5_000

export function createRecords(recorder: Pick<Recorder, 'put'> | undefined, now: () => Date): Records {
  const stages = createStageTimes(now)
  const names = createNewestNames()
  const outbox = createOutbox()
  const verdicts = createStoredVerdicts(now)
  /** The nodes as they were noted last. */
  const noted = new Map<string, { node: DeliveredNode; isOnlyNode: boolean }>()
  let audit: AuditWrite[] = []

  /** A node without interfaces. */
  function addEmpty(
    providerId: string,
    node: NodeRef,
    more: Pick<InventoryWrite, 'state' | 'reason' | 'removed' | 'why'>,
  ) {
    const { nodeName, instanceId = '' } = node
    noted.delete(`${providerId} ${nodeName}`)
    outbox.add(() => ({
      ...namesOf(providerId, node),
      config: { nodeName, ...(instanceId !== '' && { instanceId }), interfaces: [] },
      lastConfigHash: '',
      ...more,
    }))
  }

  return {
    noteSeen: stages.seen,
    noteDelivered: stages.delivered,
    noteNames(providerId, plan, source) {
      if (names.take(providerId, plan, source)) noted.delete(`${providerId} ${plan.nodeName}`)
    },
    note(providerId, node, why, { requested, isOnlyNode = false } = {}) {
      const key = `${providerId} ${node.nodeName}`
      const known = noted.get(key)
      const isNoted = known?.isOnlyNode === isOnlyNode && equalJson(known.node, node)
      if (isNoted && !outbox.has(key) && !requested) return
      if (requested) noted.delete(key)
      else noted.set(key, { node, isOnlyNode })
      stages.node(providerId, node)
      const stagesOf = (nic: Interface) => stages.of(providerId, nic)
      outbox.add(() => ({
        ...recordOf(providerId, names.with(providerId, node), stagesOf, why, requested),
        ...(isOnlyNode && { onlyNode: true }),
      }))
    },
    noteRemoving: (providerId, node, why) => addEmpty(providerId, node, { state: 'Pending', reason: 'Removing', why }),
    noteGone(providerId, node, why) {
      names.forget(providerId, node.nodeName)
      addEmpty(providerId, node, { removed: true, why })
    },
    noteAudit(entry) {
      if (recorder) audit = [...audit, entry].slice(-maxAuditEntries)
    },
    async flush(log, object) {
      if (!recorder) return true
      const flight = await outbox.take()
      let unsent = audit
      audit = []
      try {
        const changes = object && verdicts.changes(object)
        const { forbidden, isStored } = await putAll(recorder, flight.writes.values(), changes ?? [], log)
        flight.arrived(forbidden)
        for (; unsent.length > 0; unsent = unsent.slice(maxWrites))
          await putAudit(entries => recorder.put([], [], entries), unsent.slice(0, maxWrites), log)
        if (object && changes) verdicts.sent(object, isStored)
        return forbidden.size === 0
      } catch (error) {
        flight.failed()
        audit = [...unsent, ...audit].slice(-maxAuditEntries)
        if (object) verdicts.failed(object)
        log.warn('cannot write to the inventory', { nodes: flight.writes.size, error })
        return false
      } finally {
        flight.end()
      }
    },
    restart() {
      outbox.forgetSent()
      noted.clear()
      verdicts.clear()
    },
  }
}

/** Returns the providers that the operator may not write, and whether the inventory stores the verdicts. */
async function putAll(
  recorder: Pick<Recorder, 'put'>,
  writes: Iterable<PendingWrite>,
  changes: Iterable<VerdictWrite>,
  log: Log,
): Promise<{ forbidden: ReadonlySet<string>; isStored: boolean }> {
  const forbidden = new Set<string>()
  let isStored = true
  for (const batch of inventoryBatches(writes, changes)) {
    await giveWay()
    const answer = await putBatch((...content) => recorder.put(...content, []), batch, log, forbidden)
    if (batch.verdicts.length > 0) isStored &&= answer
  }
  return { forbidden, isStored }
}
