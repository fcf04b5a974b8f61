/**
 * Everything that a decision about one MultiNicNodeConfig may depend on.
 */

import type { AgentMode } from '../../contract/agent-input.ts'
import type { AgentReport } from '../../contract/agent-report.ts'
import type { Backend } from '../../contract/backend.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { NodeCondition } from '../../kube/types.ts'

export interface Observed {
  config: NodeConfig
  /** The config as the API server has it, if somebody else changed its status. */
  stored?: NodeConfig
  /** Milliseconds since 1970. */
  now: number
  /** The Node whose machine the config names. */
  node?: NodeFacts
  /** A Node with the name in the config, on another machine. */
  otherMachine?: NodeFacts
  /** The names of the Nodes that report the machine of the config, if there are several. */
  twins?: string[]
  /** Other configs that name the same node, oldest first. */
  duplicates: Duplicate[]
  /** All agent Jobs on this node, whichever config they belong to. */
  jobs: AgentJob[]
  rollout: RolloutSlot
  /** For the cleanup of a deleted config: failures of other nodes do not keep it. */
  cleanupSlot: RolloutSlot
  /** The namespace has the paused annotation. */
  namespacePaused?: boolean
  /** The namespace is being deleted: the API server rejects every create in it. */
  namespaceDeleting?: boolean
  /** Whether the API server still serves the kind of a deleted config; undefined before it was asked. */
  definition?: 'served' | 'terminating' | undefined
  /** The annotation on the namespace that approves deletions. */
  deletionApproval?: string | undefined
  /** The config is one of many that are deleted at once. */
  isOneOfMany?: boolean
  /** The maximum number of check Jobs is running. */
  checkLimitReached?: boolean
  /** The cluster has had its share of checks for drift, or of retries, for now. */
  checkRateReached?: boolean
  retryRateReached?: boolean
  /** The API server was restored from a backup then: a status from before may be false. */
  restoredAt?: number | undefined
  /** Interval of the checks for drift; undefined when they are off. */
  checkIntervalMs?: number | undefined
  /** Hash of what an agent would run with now: image, settings, facts of the Node, Pod Security of the namespace. */
  agentHash?: string
  /** The request on the namespace to run the agent again on every configured node. */
  agentRollout?: string | undefined
  policy: Policy
}

export interface RolloutSlot {
  available: boolean
  /** Why there is no slot. */
  message: string
  /** The failure budget is used up. */
  stopped?: boolean
}

export interface NodeFacts {
  name: string
  systemUUID: string
  bootID: string
  /** False when the control plane lost contact (Ready=Unknown). A NotReady node still counts as reachable. */
  reachable: boolean
  internalIPs: string[]
  /** The node's own addresses. Several of a family if only the agent can tell which of them is the node's. */
  addresses: string[]
  podCIDRs: string[]
  /** Decides which host directories the agent mounts. */
  backend: Backend
  /** From the label on the Node; absent where the setting of the fleet applies. */
  takeover?: 'dynamic' | 'refuse'
  /** Our condition on the Node, if it has one. */
  condition?: NodeCondition
}

export interface Duplicate {
  name: string
  /** The older config manages the node. */
  older: boolean
  deleting: boolean
  /** Its deletion would clean up the node. */
  hasFinalizer: boolean
  /** A node of a MultiNicBizConfig: every MultiNicNodeConfig counts as older. */
  legacy?: true
}

export type Action = Exclude<AgentMode, 'plan'>

export interface AgentJob {
  name: string
  uid: string
  action: Action
  configUid: string
  generation: number
  specHash: string
  bootID: string
  attempt: number
  /** Of the Observed that it was started from. Absent from Jobs of the Go implementation. */
  agentHash?: string
  /** The request to run the agent again that was in force when the Job was created. */
  agentRollout?: string
  podUids: string[]
  createdAt: number
  /** waiting: the agent has not started. ended: the agent will not run again. */
  phase: 'waiting' | 'running' | 'ended'
  /** The agent ended with this exit code, and the kubelet starts it again. */
  restartsAfter?: number
  /** What keeps the Pod from running. */
  podStartError?: PodStartError
  endedAt?: number
  /** The Job ended and the Pod cache does not show the Pod yet: observe again after this time. */
  recheckAfterMs?: number
  result?: JobResult
  traceparent?: string
}

export interface PodStartError {
  reason:
    | 'AgentCrashed'
    | 'AgentOutOfMemory'
    | 'ImagePullFailed'
    | 'MountFailed'
    | 'NodeOutOfResources'
    | 'PodCreateFailed'
    | 'PodForbidden'
    | 'PodNotStarting'
    | 'QuotaExceeded'
    | 'WebhookFailed'
  message: string
}

/** The report of an ended Job, or why it has no valid one. */
export type JobResult = { report: AgentReport } | { missing: string }

export interface Policy {
  drift: 'report' | 'repair'
  cleanupTimeoutMs: number
  jobTtlMs: number
}
