/**
 * Words of the planner: what a plan is made of, and the work that a config asks for. Pure.
 */
import type { AgentReport } from '../../contract/agent-report.ts'
import { completeInterfaces, type FieldError, type Interface, specHash } from '../../contract/interfaces.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer, type State } from '../../contract/node-config.ts'
import type { KubeObject } from '../../contract/object.ts'
import type { NodeReason } from '../../contract/reasons/catalogue.ts'
import { agentJobName, identityOf } from '../job.ts'
import { instanceIdOf } from '../machine.ts'
import type { Action, AgentJob, NodeFacts, Observed } from './observed.ts'

export type Step =
  | { do: 'addFinalizer' }
  | { do: 'removeFinalizer'; reason: Reason; message: string }
  | { do: 'clearRetry' }
  | { do: 'createJob'; name: string; action: Action; attempt: number; takesSlot: boolean }
  | { do: 'deleteJob'; name: string; uid: string }

export type Reason = NodeReason | 'Drifted' | 'Removed'

/** What the status is to say. */
export interface Said {
  state: State
  reason: Reason
  message: string
  /** Something is under way, or will be tried by itself. */
  progressing: boolean
  failedAttempts: number
  job?: string
  /** A run has ended. Without a report nobody knows more about the interfaces than before. */
  result?: { bootID: string; report?: AgentReport }
}

export interface Plan {
  steps: Step[]
  /** Absent: the status says all there is to say, or it is too early to say more. */
  said?: Said
  /** Look again after so many ms: something is due then that no event tells of. */
  after?: number
}

export interface Work {
  interfaces: Interface[]
  errors: FieldError[]
  specHash: string
}

/** A Job that ends within this time is told by its result only: one write instead of two. */
export const tellAfterMs = 2_000
/** A Pod that does not run by then is asked about, and again after a while; sooner where nobody has told why. */
export const lateMs = 5_000
export const askAgainMs = 60_000
export const askSoonMs = 20_000
/** A Pod that does not run by then gives its slot back. */
export const startWithinMs = 30_000
/** Waits before NICs that are not in the guest yet are looked for again. */
const pendingWaits = [1_000, 2_000, 5_000, 10_000, 30_000]
/** Waits after a first, second, … failure. Then a person or a new spec has to come. */
const failureWaits = [10_000, 30_000, 60_000, 120_000, 300_000]

export function pendingWait(attempt = pendingWaits.length): number {
  return pendingWaits[attempt] ?? 30_000
}

export function failureWait(failures: number): number | undefined {
  return failureWaits[failures - 1]
}

/** A config is looked at many times before its spec changes, and nobody changes it in place. */
const known = new WeakMap<NodeConfig, Work>()

export function workOf(config: NodeConfig): Work {
  const before = known.get(config)
  if (before) return before
  const work = workIn(config)
  known.set(config, work)
  return work
}

/** The next version of a config with the same spec asks for the same work. */
export function keepWork(before: NodeConfig, after: NodeConfig): void {
  const work = known.get(before)
  if (work && before.metadata.generation === after.metadata.generation && instanceIdOf(before) === instanceIdOf(after))
    known.set(after, work)
}

function workIn(config: NodeConfig): Work {
  const { interfaces, errors } = completeInterfaces(config.spec.interfaces)
  const instanceId = instanceIdOf(config)
  const hash = specHash({ nodeName: config.spec.nodeName, ...(instanceId && { instanceId }), interfaces })
  return { interfaces, errors, specHash: hash }
}

/** Failed runs of the generation that is wanted now. */
export function failuresOf({ metadata, status }: NodeConfig): number {
  return status?.observedGeneration === metadata.generation ? (status?.failedAttempts ?? 0) : 0
}

/** The status says that everything that is wanted now is there. */
export function isSettled({ metadata, status }: NodeConfig): boolean {
  return status?.state === 'Configured' && status.observedGeneration === metadata.generation
}

/** Its status says that an older config has the node. */
export function standsBack({ metadata, status }: NodeConfig): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.reason === 'DuplicateNode' && metadata.deletionTimestamp === undefined
}

/** No wait overrides the status while a Job of its generation lives, so InProgress is the only state before its result. */
export function isTaken({ status }: NodeConfig, jobName: string): boolean {
  return status?.lastJobName === jobName && status.state !== 'InProgress'
}

/**
 * It failed with a spec that came after its first one: it counts against the failure budget of a rollout until it is good
 * again. That it is being tried again is no reason for others to go on.
 */
export function hasFailedChange(config: NodeConfig): boolean {
  const { generation = 0 } = config.metadata
  const { state, observedGeneration } = config.status ?? {}
  if (observedGeneration !== generation || generation <= 1) return false
  return state === 'Failed' || (state !== 'Configured' && failuresOf(config) > 0)
}

export function isPaused({ metadata }: KubeObject): boolean {
  const value = metadata.annotations?.[nodeConfigAnnotations.paused]
  return value !== undefined && value !== 'false'
}

/** By whom, or undefined. */
export function pauseOf({ config, allPaused }: Observed): string | undefined {
  const { paused } = nodeConfigAnnotations
  if (isPaused(config)) return `annotation ${paused} is set`
  return allPaused ? `annotation ${paused} is set on namespace ${config.metadata.namespace}` : undefined
}

export function newest(jobs: AgentJob[]): AgentJob | undefined {
  return jobs.toSorted((a, b) => b.createdAt - a.createdAt || b.attempt - a.attempt)[0]
}

export function wait(seen: Observed, reason: Reason, message: string, after?: number): Plan {
  const said: Said = {
    state: 'Pending',
    reason,
    message,
    progressing: true,
    failedAttempts: failuresOf(seen.config),
  }
  return { steps: [], said, ...(after !== undefined && { after: Math.max(0, after) }) }
}

/** When to look again at a Job whose Pod does not run. */
export function nextLook(age: number): number {
  const next = [lateMs, startWithinMs].find(ms => ms > age)
  return next === undefined ? askAgainMs : next - age
}

/** A server without a TTL controller leaves ended Jobs behind: they go some time after their TTL. */
export function sweep(ended: AgentJob[], now: number, ttlMs: number): { old: AgentJob[]; after?: number } {
  const left = (job: AgentJob) => (job.endedAt ?? job.createdAt) + ttlMs + 60_000 - now
  const waits = ended.map(left).filter(ms => ms > 0)
  return { old: ended.filter(job => left(job) <= 0), ...(waits.length && { after: Math.min(...waits) }) }
}

/** An ended Job of the Go implementation: it says nothing that we could use, and nobody else takes it away. */
export function isNobodys({ configUid, phase, uid }: AgentJob): boolean {
  return configUid === '' && uid !== '' && phase === 'ended'
}

/** Another agent is at work on the node. It is left to finish or to roll back: killing it is the one way to strand a node. */
export function makeRoom(seen: Observed, busy: AgentJob): Plan {
  const age = Math.max(0, seen.now - busy.createdAt)
  const plan = wait(seen, 'PreviousJobRunning', `${busy.name} must end before the next agent starts`)
  if (busy.phase === 'running') return plan
  if (age < startWithinMs) return { ...plan, after: startWithinMs - age }
  // Its agent never started: there is nothing to roll back. Without a uid only its Pod is left, which is ending.
  return !busy.uid ? plan : { ...plan, steps: [{ do: 'deleteJob', name: busy.name, uid: busy.uid }] }
}

export interface Start {
  action: Action
  attempt: number
  takesSlot: boolean
}

/** The Job, after everything that has to be there before it. */
export function start(seen: Observed, node: NodeFacts, work: Work, { action, attempt, takesSlot }: Start): Plan {
  const { config } = seen
  const { annotations, finalizers = [], uid } = config.metadata
  const name = agentJobName(identityOf({ config, node, specHash: work.specHash, action, attempt }))
  // An ended Job whose Pod is lost before it was counted would be started again beside the new one.
  const ended = seen.jobs.filter(job => (job.configUid === uid && job.phase === 'ended') || isNobodys(job))
  return {
    steps: [
      ...(finalizers.includes(nodeConfigFinalizer) || action === 'cleanup' ? [] : [{ do: 'addFinalizer' } as const]),
      ...ended.map(job => ({ do: 'deleteJob', name: job.name, uid: job.uid }) as const),
      { do: 'createJob', name, action, attempt, takesSlot },
      ...(annotations?.[nodeConfigAnnotations.retry] !== undefined ? [{ do: 'clearRetry' } as const] : []),
    ],
    after: tellAfterMs,
  }
}
