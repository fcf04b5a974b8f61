/**
 * Keeps one MultiNicNodeConfig true: observe → plan → apply → status.
 *
 * Level-based: the key says only which config to look at. What happened to it is read from the caches, never taken from
 * the event that woke us.
 */
import { mergePatch } from '../contract/json.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import { classOf, eventTypeOf } from '../contract/reasons/catalogue.ts'
import type { Reconcile, Requeue } from '../kube/controller.ts'
import { isConflict, isNotFound } from '../kube/errors.ts'
import type { EventRecorder } from '../kube/events.ts'
import { keyText, parseKey } from '../kube/keys.ts'
import { jobs, nodes } from '../kube/resources.ts'
import type { Key } from '../kube/types.ts'
import { explain } from '../runtime/errors.ts'
import { createBucket } from '../runtime/token-bucket.ts'
import type { Log } from '../telemetry/log.ts'
import { apply, type Hands, isNamespaceEnding, keyFor } from './apply.ts'
import type { Tally } from './metrics.ts'
import { nextNodeConditions } from './node-condition.ts'
import { jobsLeftBy, observe, type View } from './observe.ts'
import { namespaceEndingMessage } from './plan/deletion.ts'
import type { Observed } from './plan/observed.ts'
import { planNodeConfig } from './plan/plan.ts'
import { failuresOf, type Plan, type Reason, type Said, type Step, sweep } from './plan/work.ts'
import type { Troubles } from './pod-start-errors.ts'
import type { Rollout } from './rollout.ts'
import { nextStatus } from './status.ts'
import { type JobTrace, type Traces, traceFacts } from './traces.ts'

export interface Deps extends Hands {
  view: View
  rollout: Rollout
  troubles: Troubles
  events: EventRecorder
  tally: Tally
  traces: Traces
  /** Whether Nodes are to carry what their config says. */
  marksNodes: boolean
  now: () => Date
  wake: (key: string) => void
}

export function nodeConfigReconciler(given: Deps): Reconcile {
  const { view, rollout, now } = given
  const deps = { ...given, events: withoutFloods(given.events, now) }
  return async (key, { log, waited }) => {
    const began = now()
    deps.tally.waited(waited)
    if (!view.memory.config(key)) return sweepLeft(deps, parseKey(key), began.getTime())
    const first = observe(view, key, began.getTime())
    const late = deps.troubles.late(first?.jobs ?? [], began.getTime())
    if (late.length) await deps.troubles.ask(late, began.getTime())
    // No await between looking and reserving, not even one that returns at once: two configs would take the same slot.
    const seen = late.length ? observe(view, key, now().getTime()) : first
    const plan = seen ? planNodeConfig(seen) : { steps: [] }
    rollout.queue(key, plan.said?.reason === 'RolloutWaiting' || plan.said?.reason === 'RolloutStopped')
    for (const step of plan.steps) {
      if (step.do !== 'createJob') continue
      if (step.action === 'check') rollout.reserve(key, 'check')
      else if (step.takesSlot) rollout.reserve(key, 'change')
    }
    try {
      if (seen) await carryOut(deps, seen, plan, log)
    } finally {
      rollout.free(key)
      for (const next of rollout.next(now().getTime())) if (next !== key) deps.wake(next)
      deps.tally.reconciled(now().getTime() - began.getTime())
    }
    return plan.after === undefined ? undefined : { after: plan.after }
  }
}

/** A config that is gone, and Jobs that no TTL controller removed. */
async function sweepLeft({ kube, view, rollout }: Deps, key: Key, now: number): Promise<Requeue | undefined> {
  rollout.queue(keyText(key), false)
  const ended = jobsLeftBy(view, key, now).filter(({ phase }) => phase === 'ended')
  const { old, after } = sweep(ended, now, view.policy.jobTtlMs)
  for (const { name, uid } of old) await kube.delete(jobs, { ...key, name }, { propagation: 'Background', uid })
  return after === undefined ? undefined : { after }
}

async function carryOut(deps: Deps, seen: Observed, plan: Plan, plain: Log): Promise<void> {
  let config = seen.config
  const job = plan.steps.find(step => step.do === 'createJob')
  const trace = job && deps.traces.forJob(config, job.action)
  const log = plain.with(trace ? { traceId: trace.traceId } : traceFacts(seen, plan.said))
  let failure: unknown
  try {
    for (const step of plan.steps) config = await takeStep(deps, seen, config, step, { log, trace })
  } catch (error) {
    // Somebody else was quicker: the newer state decides, and there is nothing to tell.
    if (isConflict(error)) throw error
    failure = error
  }
  // Written even when a step failed: nobody should need our logs to learn why.
  const said = failure ? stepFailed(config, plan, failure) : plan.said
  if (said) config = await tell(deps, config, said, log)
  if (said?.result) deps.traces.told(seen, said)
  if (deps.marksNodes) await markNode(deps, seen, config)
  if (failure) throw failure
}

async function takeStep(
  deps: Deps,
  seen: Observed,
  config: NodeConfig,
  step: Step,
  context: { log: Log; trace: JobTrace | undefined },
): Promise<NodeConfig> {
  try {
    const after = await apply(deps, seen, config, step, context.trace)
    context.log.info('step', { ...step })
    deps.tally.stepped(step, config)
    if (step.do === 'removeFinalizer') announce(deps, config, step.reason, step.message)
    return after
  } catch (error) {
    if (!config.metadata.deletionTimestamp || !isNamespaceEnding(error)) throw error
    const release: Step = { do: 'removeFinalizer', reason: 'Released', message: namespaceEndingMessage }
    return takeStep(deps, seen, config, release, context)
  }
}

/** Returns the config as it is afterwards. */
async function tell(deps: Deps, config: NodeConfig, said: Said, log: Log): Promise<NodeConfig> {
  const status = nextStatus(config, said, deps.now())
  if (!status) return config
  const { resourceVersion } = config.metadata
  let after: NodeConfig
  try {
    const patch = mergePatch(config.status ?? {}, status)
    const options = { ...(resourceVersion && { resourceVersion }) }
    after = deps.memory.wroteConfig(config, await deps.kube.patchStatus(nodeConfigs, keyFor(config), patch, options))
  } catch (error) {
    if (isNotFound(error)) return config
    throw explain(`writing the status of ${config.metadata.name}`, error)
  }
  log.info('status', { state: said.state, reason: said.reason, nics: status.nics })
  deps.tally.told(config, said)
  const before = config.status?.conditions?.find(({ type }) => type === 'Ready')
  if (said.result || before?.reason !== said.reason) announce(deps, config, said.reason, said.message)
  return after
}

/** Others write this list too, so only our own entry of it is applied. */
async function markNode({ kube, now }: Deps, { node }: Observed, config: NodeConfig): Promise<void> {
  const conditions = node && nextNodeConditions(node.condition, config, now())
  if (!conditions) return
  const object = { metadata: { name: node.name }, status: { conditions } }
  try {
    await kube.apply(nodes, object, { fieldManager: 'multinic-controller', subresource: 'status', force: true })
  } catch (error) {
    if (!isNotFound(error)) throw explain(`marking node ${node.name}`, error)
  }
}

/**
 * What goes as it should on a single node is worth an Event; of a wave of a thousand nodes the status tells it, and a few
 * Events. Steps never take the place of results.
 */
function withoutFloods(events: EventRecorder, now: () => Date): EventRecorder {
  const few = () => createBucket({ size: 10, perSecond: 1, now: () => now().getTime() })
  const [results, steps] = [few(), few()]
  return {
    ...events,
    event(object, type, reason, message) {
      const bucket = classOf(reason) === 'progress' ? steps : results
      if (type === 'Warning' || bucket.take()) events.event(object, type, reason, message)
    },
  }
}

function announce({ events }: Deps, config: NodeConfig, reason: Reason, message: string): void {
  events.event(config, eventTypeOf(reason), reason, message)
}

/** A sweep or a check that could not be made says nothing about the node. */
function stepFailed(config: NodeConfig, plan: Plan, failure: unknown): Said | undefined {
  const harmless = (step: Step) => step.do === 'deleteJob' || (step.do === 'createJob' && step.action === 'check')
  if (plan.steps.every(harmless)) return plan.said
  const { message } = explain('the cluster refused a step', failure)
  return { state: 'Pending', reason: 'StepFailed', message, progressing: true, failedAttempts: failuresOf(config) }
}
