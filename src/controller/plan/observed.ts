/**
 * All that a decision about one MultiNicNodeConfig may depend on, in plain words.
 */
import type { AgentMode } from '../../contract/agent-input.ts'
import type { AgentReport } from '../../contract/agent-report.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { NodeCondition } from '../../kube/types.ts'

export interface Observed {
  config: NodeConfig
  /** Milliseconds since 1970. */
  now: number
  /** The machine that the config is for. */
  node?: NodeFacts
  /** A Node that has the config's name and is another machine. */
  namesake?: NodeFacts
  /** Other configs that name the same node, the oldest first. */
  twins: Twin[]
  /** Every agent Job on this node, whoever asked for it. */
  jobs: AgentJob[]
  rollout: { room: boolean; because: string; stopped?: boolean }
  /** A person paused everything. */
  allPaused?: boolean
  /** The namespace is being deleted: nothing can be created in it. */
  namespaceEnding?: boolean
  /** As many checks as may run at once are running. */
  checksFull?: boolean
  policy: Policy
}

export interface NodeFacts {
  name: string
  systemUUID: string
  bootID: string
  /** False when the control plane has lost the node (Ready=Unknown). NotReady alone is heard. */
  heard: boolean
  addresses: string[]
  backend: Backend
  /** What the Node says of our NICs, where that is wanted. */
  condition?: NodeCondition
}

/** Who manages the network of the node: it decides which directories the agent gets. */
export type Backend = 'netplan' | 'networkmanager' | 'ifcfg'

export interface Twin {
  name: string
  /** It came first, so the node is its own. */
  older: boolean
  deleting: boolean
  /** A node of a MultiNicBizConfig: every MultiNicNodeConfig counts as older. */
  entry?: true
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
  podUids: string[]
  createdAt: number
  /** waiting: its agent has not started; ended: it will not run again. */
  phase: 'waiting' | 'running' | 'ended'
  /** What keeps the Pod from running. */
  trouble?: Trouble
  endedAt?: number
  /** The Job has ended and its Pod was not seen yet: look again after so many ms. */
  lookAgainMs?: number
  result?: Reading
  traceparent?: string
}

export interface Trouble {
  reason: 'ImagePullFailed' | 'MountFailed' | 'NodeOutOfResources' | 'PodForbidden'
  message: string
}

/** The report of an ended Job, or why there is none that counts. */
export type Reading = { report: AgentReport } | { lost: string }

export interface Policy {
  drift: { policy: 'report' | 'repair'; intervalMs?: number }
  cleanupTimeoutMs: number
  jobTtlMs: number
}
