/**
 * Decides the next step of a Job like the real Job controller, for one completion. Pure.
 */
import { type ApiObject, type Fields, listOf, numberOf, recordOf, textOf, valueAt } from '../json.ts'

/** Finalizer on each Pod until the Job has counted it. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

export interface JobPlan {
  status: Fields
  createPod: boolean
  podsToDelete: ApiObject[]
  /** Counted Pods: their finalizer can be removed. */
  podsToRelease: ApiObject[]
  /** Check the Job again at this time. */
  recheckAt: number | undefined
  /** Time of the last Pod failure, or 0. */
  lastFailure: number
  events: { type: 'Normal' | 'Warning'; reason: string; message: string }[]
}

interface Outcome {
  reason: string
  message: string
}

const backoff = { firstMs: 10_000, maxMs: 600_000 }

/** `lastFailure` covers Pods that are already deleted. */
export function planJob(job: ApiObject, pods: readonly ApiObject[], now: Date, lastFailure = 0): JobPlan {
  const spec = recordOf(job['spec'])
  const was = recordOf(job['status'])
  const time = timestampOf(now)
  const tracked = pods.filter(pod => pod.metadata.finalizers?.includes(trackingFinalizer))
  const counted = tracked.filter(hasEnded)
  const succeededNow = counted.filter(pod => phaseOf(pod) === 'Succeeded').length
  const succeeded = numberOf(was['succeeded']) + succeededNow
  const failed = numberOf(was['failed']) + counted.length - succeededNow
  const alive = pods.filter(pod => !hasEnded(pod))
  const active = alive.filter(pod => !pod.metadata.deletionTimestamp)
  const terminating = alive.length - active.length
  const startTime = was['startTime'] ?? (spec['suspend'] === true ? undefined : time)
  const conditions = listOf(was['conditions']).map(recordOf)

  const status: Fields = {
    ...(startTime !== undefined && { startTime }),
    ...(active.length > 0 && { active: active.length }),
    ready: active.filter(isReady).length,
    terminating,
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    uncountedTerminatedPods: {},
    ...(conditions.length > 0 && { conditions }),
  }
  const failedAt = counted.length > succeededNow ? Math.max(lastFailure, lastEnd(counted, now)) : lastFailure
  const plan: JobPlan = {
    status,
    createPod: false,
    podsToDelete: [],
    podsToRelease: counted,
    recheckAt: undefined,
    lastFailure: failedAt,
    events: [],
  }
  const addConditions = (types: string[], outcome: Outcome) => {
    const missing = types.filter(type => !conditions.some(one => one['type'] === type))
    status['conditions'] = [...conditions, ...missing.map(type => condition(type, outcome, time))]
  }

  if (succeeded >= numberOf(spec['completions'], 1)) {
    const outcome = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
    addConditions(['SuccessCriteriaMet', ...(alive.length === 0 ? ['Complete'] : [])], outcome)
    plan.podsToDelete = active
    if (alive.length === 0) {
      status['completionTime'] = time
      plan.events.push({ type: 'Normal', reason: 'Completed', message: 'Job completed' })
    }
    return plan
  }

  const failure = failureOf(spec, conditions, active, failed, startTime, now)
  if (failure) {
    addConditions(['FailureTarget', ...(alive.length === 0 ? ['Failed'] : [])], failure)
    plan.podsToDelete = active
    if (alive.length === 0) plan.events.push({ type: 'Warning', ...failure })
    return plan
  }

  if (spec['suspend'] === true) {
    addConditions(['Suspended'], { reason: 'JobSuspended', message: 'Job suspended' })
    plan.podsToDelete = active
    return plan
  }

  const deadline = spec['activeDeadlineSeconds']
  if (deadline !== undefined) plan.recheckAt = Date.parse(textOf(startTime)) + numberOf(deadline) * 1000
  const mayReplace = spec['podReplacementPolicy'] === 'Failed' ? alive.length === 0 : active.length === 0
  if (mayReplace && numberOf(spec['parallelism'], 1) > 0) {
    const from = failed === 0 ? 0 : failedAt + Math.min(backoff.firstMs * 2 ** (failed - 1), backoff.maxMs)
    if (from <= now.getTime()) plan.createPod = true
    else plan.recheckAt = Math.min(from, plan.recheckAt ?? from)
  }
  if (plan.createPod) status['active'] = active.length + 1
  return plan
}

function failureOf(
  spec: Fields,
  conditions: readonly Fields[],
  active: readonly ApiObject[],
  failed: number,
  startTime: unknown,
  now: Date,
): Outcome | undefined {
  const decided = conditions.find(one => one['type'] === 'FailureTarget')
  if (decided) return { reason: textOf(decided['reason']), message: textOf(decided['message']) }
  const limit = numberOf(spec['backoffLimit'], 6)
  if (failed > limit || restartsReach(spec, active, limit)) {
    return { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' }
  }
  const deadline = spec['activeDeadlineSeconds']
  if (deadline !== undefined && startTime !== undefined) {
    if (now.getTime() - Date.parse(textOf(startTime)) >= numberOf(deadline) * 1000) {
      return { reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' }
    }
  }
  return undefined
}

/** With OnFailure container restarts count: restart number `limit` is killed as it starts. */
function restartsReach(spec: Fields, active: readonly ApiObject[], limit: number): boolean {
  if (valueAt(spec, 'template', 'spec', 'restartPolicy') !== 'OnFailure') return false
  const restarts = active
    .filter(pod => ['Pending', 'Running'].includes(phaseOf(pod)))
    .flatMap(pod => [
      ...listOf(valueAt(pod, 'status', 'initContainerStatuses')),
      ...listOf(valueAt(pod, 'status', 'containerStatuses')),
    ])
    .reduce<number>((sum, container) => sum + numberOf(recordOf(container)['restartCount']), 0)
  return limit === 0 ? restarts > 0 : restarts >= limit
}

export function isFinishedJob(job: ApiObject): Fields | undefined {
  return listOf(valueAt(job, 'status', 'conditions'))
    .map(recordOf)
    .find(one => ['Complete', 'Failed'].includes(textOf(one['type'])) && one['status'] === 'True')
}

function condition(type: string, { reason, message }: Outcome, time: string): Fields {
  return { type, status: 'True', lastProbeTime: time, lastTransitionTime: time, reason, message }
}

function phaseOf(pod: ApiObject): string {
  return textOf(valueAt(pod, 'status', 'phase'))
}

/** Finished, or force-deleted. */
function hasEnded(pod: ApiObject): boolean {
  if (['Succeeded', 'Failed'].includes(phaseOf(pod))) return true
  return pod.metadata.deletionTimestamp !== undefined && pod.metadata.deletionGracePeriodSeconds === 0
}

function isReady(pod: ApiObject): boolean {
  return listOf(valueAt(pod, 'status', 'conditions'))
    .map(recordOf)
    .some(one => one['type'] === 'Ready' && one['status'] === 'True')
}

function lastEnd(pods: readonly ApiObject[], now: Date): number {
  const ends = pods
    .filter(hasEnded)
    .flatMap(pod => [
      Date.parse(pod.metadata.deletionTimestamp ?? ''),
      ...listOf(valueAt(pod, 'status', 'containerStatuses')).map(one =>
        Date.parse(textOf(valueAt(one, 'state', 'terminated', 'finishedAt'))),
      ),
    ])
  const known = ends.filter(end => !Number.isNaN(end))
  return known.length > 0 ? Math.max(...known) : now.getTime()
}

function timestampOf(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
