/**
 * Reconciles one MultiNicNodeConfig: observe → plan → apply → status.
 *
 * Level-based: the key only names the config. Everything else comes from the caches, never from the event that woke it.
 */
import { mergePatch } from '../contract/json.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import { classOf, eventTypeOf } from '../contract/reasons/catalogue.ts'
import type { Kube } from '../kube/api.ts'
import type { Reconcile, Requeue } from '../kube/controller.ts'
import { isConflict, isNotFound } from '../kube/errors.ts'
import type { EventRecorder } from '../kube/events.ts'
import { keyText, parseKey } from '../kube/keys.ts'
import type { RefusedWrites } from '../kube/refused-writes.ts'
import { jobs, nodes } from '../kube/resources.ts'
import type { Key } from '../kube/types.ts'
import { explain } from '../runtime/errors.ts'
import { createBucket } from '../runtime/token-bucket.ts'
import type { Log } from '../telemetry/log.ts'
import { type ApplyDeps, apply, isNamespaceTerminating } from './apply.ts'
import { requestsIn } from './audit.ts'
import type { Definitions } from './definitions.ts'
import { firstAddresses } from './machine.ts'
import type { ControllerMetrics } from './metrics.ts'
import { nextNodeConditions } from './node-condition.ts'
import { jobsOfDeletedConfig, type ObserveSources, observe } from './observe.ts'
import type { OwnStatuses } from './own-status.ts'
import { expiredJobs } from './plan/agent-job.ts'
import { waitingFor } from './plan/agent-rollout.ts'
import { failedAttemptsOf, readyReasonOf } from './plan/config-status.ts'
import { namespaceDeletingMessage } from './plan/deletion.ts'
import type { Observed } from './plan/observed.ts'
import { planNodeConfig } from './plan/plan.ts'
import type { Plan, Reason, StatusUpdate, Step } from './plan/step.ts'
import { warningOf } from './plan/warning.ts'
import { admissionReasonIn, type PodStartErrors } from './pod-start-errors.ts'
import type { Rollout } from './rollout.ts'
import { hasWarning, nextNotes, nextStatus } from './status.ts'
import { type JobTrace, type Traces, traceIdOf } from './traces.ts'

export interface ReconcileDeps extends ApplyDeps {
  kube: ApplyDeps['kube'] & Pick<Kube, 'apply'>
  sources: ObserveSources
  rollout: Rollout
  podStartErrors: PodStartErrors
  definitions: Definitions
  statuses: OwnStatuses
  events: EventRecorder
  metrics: ControllerMetrics
  traces: Traces
  refused: RefusedWrites
  /** Set the condition MultiNicReady on Nodes. */
  setsNodeCondition: boolean
  now: () => Date
  wake: (key: string) => void
}

export function nodeConfigReconciler(options: ReconcileDeps): Reconcile {
  const { sources, rollout, now, podStartErrors, definitions, metrics } = options
  const deps = { ...options, events: rateLimited(options.events, now) }
  return async (key, { log, waited }) => {
    const startedAt = now().getTime()
    metrics.dequeued(waited)
    if (!sources.latest.config(key)) return deleteExpiredJobs(deps, parseKey(key), startedAt)
    const first = observe(sources, key, startedAt)
    const lacksEvents = podStartErrors.areDue(first?.jobs ?? [], startedAt)
    const lacksDefinition = first !== undefined && definitions.isDue(first.config, startedAt)
    if (lacksEvents) await podStartErrors.readEvents(startedAt)
    if (lacksDefinition) await definitions.read(startedAt)
    // No await between observe and reserve, not even a resolved one: two configs would get the same slot.
    const observed = lacksEvents || lacksDefinition ? observe(sources, key, now().getTime()) : first
    const plan = observed ? planNodeConfig(observed) : { steps: [] }
    rollout.setWaiting(key, plan.queued === true)
    for (const step of plan.steps) {
      if (step.do !== 'createJob') continue
      if (step.rate) sources.rates.count(step.rate)
      if (step.action === 'check') rollout.reserve(key, 'check')
      else if (step.takesSlot) rollout.reserve(key, 'change')
    }
    try {
      if (observed) await execute(deps, observed, plan, log)
      if (plan.steps.length > 0 || plan.statusUpdate) deps.refused.succeeded()
    } catch (error) {
      deps.refused.failed(error)
      throw error
    } finally {
      rollout.release(key)
      for (const next of rollout.keysToWake(now().getTime())) if (next !== key) deps.wake(next)
      metrics.reconciled(now().getTime() - startedAt)
    }
    return plan.requeueAfterMs === undefined ? undefined : { after: plan.requeueAfterMs }
  }
}

/** For a config that no longer exists: a server without a TTL controller keeps its Jobs. */
async function deleteExpiredJobs(
  { kube, sources, rollout }: ReconcileDeps,
  key: Key,
  now: number,
): Promise<Requeue | undefined> {
  rollout.setWaiting(keyText(key), false)
  const ended = jobsOfDeletedConfig(sources, key, now).filter(({ phase }) => phase === 'ended')
  const { expired, requeueAfterMs } = expiredJobs(ended, now, sources.policy.jobTtlMs)
  for (const { name, uid } of expired) await kube.delete(jobs, { ...key, name }, { propagation: 'Background', uid })
  return requeueAfterMs === undefined ? undefined : { after: requeueAfterMs }
}

async function execute(deps: ReconcileDeps, observed: Observed, plan: Plan, baseLog: Log): Promise<void> {
  let config = observed.stored ?? observed.config
  const job = plan.steps.find(step => step.do === 'createJob')
  const trace = job && deps.traces.forJob(config, job.action)
  const traceId = trace?.traceId ?? traceIdOf(observed, plan.statusUpdate)
  const log = baseLog.with({ ...(traceId && { traceId }) })
  let failure: unknown
  try {
    for (const step of plan.steps) config = await applyStep(deps, observed, config, step, { log, trace })
  } catch (error) {
    // Another writer was faster: the next reconcile sees its version, so there is nothing to report.
    if (isConflict(error)) throw error
    failure = error
  }
  // Written even after a failed step, so that the status explains the failure.
  const { statusUpdate: update, agentRollout } = failure ? planAfterFailure(config, plan, failure) : plan
  config = await writeStatus(deps, config, { update, agentRollout }, observed, log)
  if (update?.result) deps.traces.resultWritten(observed, update)
  if (deps.setsNodeCondition) await setNodeCondition(deps, observed, config)
  if (failure) throw failure
}

async function applyStep(
  deps: ReconcileDeps,
  observed: Observed,
  config: NodeConfig,
  step: Step,
  context: { log: Log; trace: JobTrace | undefined },
): Promise<NodeConfig> {
  try {
    const after = await apply(deps, observed, config, step, context.trace)
    context.log.info('step applied', { ...step })
    if (step.do === 'clearRequests') for (const facts of requestsIn(config)) context.log.info('audit', facts)
    deps.metrics.stepApplied(step, config)
    if (step.do === 'removeFinalizer') recordEvent(deps, config, step.reason, step.message)
    return after
  } catch (error) {
    if (!config.metadata.deletionTimestamp || !isNamespaceTerminating(error)) throw error
    const release: Step = { do: 'removeFinalizer', reason: 'InterfacesRetained', message: namespaceDeletingMessage }
    return applyStep(deps, observed, config, release, context)
  }
}

/**
 * Returns the config after the write. Without an update only the warning and the rollout of the agent may change, and what
 * somebody else wrote.
 */
async function writeStatus(
  deps: ReconcileDeps,
  stored: NodeConfig,
  { update, agentRollout }: { update: StatusUpdate | undefined; agentRollout: Plan['agentRollout'] },
  observed: Observed,
  log: Log,
): Promise<NodeConfig> {
  const now = deps.now()
  const config = deps.statuses.of(stored)
  const isEdited = config !== stored
  const warning = warningOf(observed)
  const addresses = observed.node && firstAddresses(observed.node.addresses)
  const next = update
    ? nextStatus(config, update, now, warning, addresses)
    : nextNotes(config, { warning, agentRollout }, now)
  const status = next ?? (isEdited ? (config.status ?? {}) : undefined)
  if (!status) return config
  if (isEdited) log.warn('somebody else changed the status: it is put right')
  let after: NodeConfig
  try {
    deps.statuses.writing(stored, status)
    const patched = await deps.configs.patchStatus(stored, mergePatch(stored.status ?? {}, status))
    after = deps.latest.wroteConfig(stored, patched)
    deps.statuses.wrote(after)
  } catch (error) {
    if (isNotFound(error)) return config
    throw explain(`cannot write the status of ${config.metadata.name}`, error)
  }
  if (warning && !hasWarning(config)) recordEvent(deps, config, warning.reason, warning.message)
  if (!update) return after
  log.info('status written', { state: update.state, reason: update.reason, nics: status.nics })
  deps.metrics.statusWritten(config, update)
  if (update.result || readyReasonOf(config) !== update.reason) recordEvent(deps, config, update.reason, update.message)
  return after
}

/** Server-side apply of our own condition: other writers own the rest of the list. */
async function setNodeCondition({ kube, now }: ReconcileDeps, { node }: Observed, config: NodeConfig): Promise<void> {
  const conditions = node && nextNodeConditions(node.condition, config, now())
  if (!conditions) return
  const object = { metadata: { name: node.name }, status: { conditions } }
  try {
    await kube.apply(nodes, object, { fieldManager: 'multinic-controller', subresource: 'status', force: true })
  } catch (error) {
    if (!isNotFound(error)) throw explain(`cannot set the condition of node ${node.name}`, error)
  }
}

/**
 * Limits Normal Events: in a rollout over a thousand nodes the statuses contain the same. Progress and results have separate
 * limits, so that progress never displaces a result.
 */
function rateLimited(events: EventRecorder, now: () => Date): EventRecorder {
  const bucket = () => createBucket({ size: 10, perSecond: 1, now: () => now().getTime() })
  const [results, progress] = [bucket(), bucket()]
  return {
    ...events,
    event(object, type, reason, message) {
      const limit = classOf(reason) === 'progress' ? progress : results
      if (type === 'Warning' || limit.take()) events.event(object, type, reason, message)
    },
  }
}

function recordEvent({ events }: ReconcileDeps, config: NodeConfig, reason: Reason, message: string): void {
  events.event(config, eventTypeOf(reason), reason, message)
}

/** A failed deletion of a Job, or a check or an agent rollout that could not start, says nothing about the node. */
function planAfterFailure(config: NodeConfig, plan: Plan, failure: unknown): Plan {
  const isHarmless = (step: Step) => step.do === 'deleteJob' || (step.do === 'createJob' && step.action === 'check')
  if (plan.steps.every(isHarmless)) return plan
  const { message } = explain('the API server rejected a step', failure)
  const admission = admissionReasonIn(message)
  // Only a quota or a webhook says more than the message: the rights of the controller are forbidden too.
  const reason = admission && admission !== 'PodForbidden' ? admission : 'ApiServerError'
  const job = plan.steps.find(step => step.do === 'createJob')
  if (job?.agentRollout !== undefined) return { steps: [], agentRollout: waitingFor(job.agentRollout, reason, message) }
  const failedAttempts = failedAttemptsOf(config)
  return { steps: [], statusUpdate: { state: 'Pending', reason, message, progressing: true, failedAttempts } }
}
