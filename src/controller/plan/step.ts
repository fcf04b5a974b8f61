/**
 * The output of the planner: steps to apply, a status to write, and when to plan again. Pure.
 */
import type { AgentReport } from '../../contract/agent-report.ts'
import type { AgentRollout, State } from '../../contract/node-config.ts'
import type { NodeReason } from '../../contract/reasons/catalogue.ts'
import type { JobRate } from '../job-rates.ts'
import { failedAttemptsOf, isRebooted } from './config-status.ts'
import type { Action, Observed } from './observed.ts'

export type Step =
  | { do: 'addFinalizer' }
  | { do: 'removeFinalizer'; reason: Reason; message: string }
  /** Removes the annotations that ask for a run. */
  | { do: 'clearRequests' }
  | CreateJob
  | { do: 'deleteJob'; name: string; uid: string }

export interface CreateJob {
  do: 'createJob'
  name: string
  action: Action
  attempt: number
  takesSlot: boolean
  /** The Job counts against this rate of the cluster. */
  rate?: JobRate
  /** Only this request asks for the Job: without it the node stays as it is. */
  agentRollout?: string
}

export type Reason = NodeReason | 'Drifted' | 'Removed'

export interface StatusUpdate {
  state: State
  reason: Reason
  message: string
  /** Work is in progress, or the controller will retry. */
  progressing: boolean
  failedAttempts: number
  /** Nothing is known about any interface since the node rebooted, or the node is gone. */
  pendingForAll?: true
  job?: string
  /** A Job has ended. Without a report the interface statuses stay as they were. */
  result?: JobResult
  /** A check ended without a report: the next one is due an interval later. */
  checkedAt?: true
  /** When the controller retries, in milliseconds since 1970. */
  nextAttempt?: number
}

export interface JobResult {
  bootID: string
  report?: AgentReport
  /** When the agent ended, in milliseconds since 1970: nothing that it observed is newer. */
  endedAt?: number
  /** Of an agent that configured the node. */
  agentHash?: string
  agentRollout?: AgentRollout
  checkIntervalMs?: number
}

export interface Plan {
  steps: Step[]
  /** Absent when the status needs no change, or when it is too early to write one. */
  statusUpdate?: StatusUpdate
  /** How far a settled node is with a request to run the agent again; null after the request was withdrawn. */
  agentRollout?: AgentRollout | null | undefined
  /** Waits for a slot of the rollout. */
  queued?: true
  /** Plan again after this time, because no event announces what is due then. */
  requeueAfterMs?: number
}

/** No step now: the status says what the config waits for. */
export function pending(
  { config, node }: Observed,
  reason: Reason,
  message: string,
  requeueAfterMs?: number,
): Plan & { statusUpdate: StatusUpdate } {
  return {
    steps: [],
    statusUpdate: {
      state: 'Pending',
      reason,
      message,
      progressing: true,
      failedAttempts: failedAttemptsOf(config),
      ...((!node || isRebooted(config, node)) && { pendingForAll: true }),
    },
    ...(requeueAfterMs !== undefined && { requeueAfterMs: Math.max(0, requeueAfterMs) }),
  }
}
