/**
 * The outcome of a sync, from which the status, the Events and the metrics are made.
 */
import type { State } from '../../contract/node-config.ts'
import { readyOf } from '../../contract/object.ts'
import type { OpenstackConfigStatus, ReservedIndex } from '../../contract/openstack-config.ts'
import type { SyncReason } from '../../contract/reasons/catalogue.ts'
import type { RenumberStatus } from '../../contract/renumber-status.ts'
import type { EventsState } from '../events/cloud-events.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { Verdict } from '../plan/verdicts.ts'

export interface NodeState {
  nodeName: string
  state: State
  reason?: string
  message?: string
}

/** The cluster that an object delivers to. */
export type Target = NonNullable<OpenstackConfigStatus['deliveredTo']>

/** What a sync found out about ports and nodes. */
export interface Findings {
  verdicts: readonly Verdict[]
  nodes: readonly NodeState[]
  /** Viola reports the state of its nodes. */
  nodesReported: boolean
  /** Interfaces whose removal waits for approval. */
  removalsOnHold: readonly string[]
  /** The command that approves them. */
  approveCommand: string
  /** The server that each name in vmNames means. */
  resolvedNames: Readonly<Record<string, string>>
  /** The subnet that each name means. */
  resolvedSubnets: Readonly<Record<string, string>>
  reservedIndexes: readonly ReservedIndex[]
  /** Nodes whose removal Viola refused, with its message. */
  refusedRemovals: readonly string[]
  /** The state of the message bus; undefined if none is configured. */
  events: EventsState | undefined
  target: Target
  /** The target had interfaces of this object before this sync. */
  targetKnown: boolean
  /** Value of the annotation that approves removals. */
  approval?: string
  /** The request to renumber interfaces, after this sync. */
  renumber?: RenumberStatus
}

interface OutcomeError {
  reason: SyncReason
  message: string
}

export interface SyncOutcome {
  generation: number
  error?: OutcomeError | undefined
  /** Viola failed, and so did the login to the cloud. */
  cloudError?: OutcomeError | undefined
  /** Nodes that were sent or removed. */
  changed: number
  /** Undefined if the sync failed before it had any. */
  findings?: Findings | undefined
  downPortRetry?: OpenstackConfigStatus['downPortRetry'] | undefined
  nextSyncMs: number
}

/** The state that the controller reported. A status of an older generation says nothing about this one. */
export function stateOf({ nodeName, generation, status }: DeliveredNode): NodeState {
  if (!status?.state || (status.observedGeneration ?? 0) < generation) return { nodeName, state: 'Pending' }
  const ready = readyOf({ status })
  return {
    nodeName,
    state: status.state,
    ...(ready?.reason && { reason: ready.reason }),
    ...(ready?.message && { message: ready.message }),
  }
}
