/**
 * What a sync knows, and what it reads for it. What it does not read, it takes from the last one.
 *
 * - `everything`: the whole cloud, and the list of node configs.
 * - `ports`: of the cloud, the ports of the servers that notifications name. The list is that of the last sync, with what it
 *   delivered.
 * - `cluster`: the list of node configs, and nothing of the cloud.
 *
 * A sync whose scope is too narrow for what it plans widens it: without a complete read nothing is removed, and without a
 * read of the cloud nothing is delivered.
 */
import type { Cloud, MessageBus } from '../cloud.ts'
import type { SyncSettings } from '../config.ts'
import type { ChangedPorts } from '../events/hints.ts'
import type { DeliveredNode, Observed } from '../plan/observed-state.ts'
import type { Plan } from '../plan/plan.ts'
import type { ListAge, ViolaClient } from '../viola/viola-client.ts'
import type { CloudState } from './observe.ts'
import type { Snapshot } from './snapshots.ts'

/** What a sync knows: what it observed, and what it plans. Nothing in it changes later. */
export interface Inspection {
  settings: SyncSettings
  providerId: string
  cloud: Cloud
  viola: ViolaClient
  cloudState: CloudState
  bus: MessageBus | undefined
  /** Whoever reads Secrets of the object's namespace may know the account of the bus. */
  sharesBus: boolean
  observed: Observed
  plan: Plan
  /** All nodes that the cluster has a config of. */
  cluster: readonly DeliveredNode[]
  /** Viola reports the state of its nodes. */
  nodesReported: boolean
  /** What was read for it. */
  reads: Scope['reads']
  /** Only the ports that notifications named were read since the last complete read. */
  isTargeted: boolean
  /** Errors of checks of missing ports. */
  checkFailures: string[]
}

export type Scope = Reads & {
  /** How old the list of node configs may be: then it is the copy that the stream of Viola keeps. Default: it is read. */
  listAge?: ListAge
}

type Reads =
  /** `fresh`: no cache of the cloud answers. */
  | { reads: 'everything'; fresh?: boolean }
  | { reads: 'ports'; changed: ChangedPorts; snapshot: Snapshot }
  | { reads: 'cluster'; last: Inspection }

export function widened({ listAge = {} }: Scope): Scope {
  return { reads: 'everything', listAge }
}
