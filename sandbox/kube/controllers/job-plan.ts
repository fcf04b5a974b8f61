/**
 * What a Job needs next, decided as the real Job controller does for one completion at a time. Pure.
 */
import { type ApiObject, type Fields, listOf, numberOf, recordOf, textOf, valueAt } from '../json.ts'

/** On every Pod of a Job until the Job has counted it. */
export const tracking = 'batch.kubernetes.io/job-tracking'

export interface JobPlan {
  status: Fields
  createPod: boolean
  /** Pods that the Job ends. */
  end: ApiObject[]
  /** Pods that are counted and may go. */
  release: ApiObject[]
  /** Look again at this time, whatever happens. */
  againAt: number | undefined
  /** When the last of its Pods failed, or 0. */
  lastFailure: number
  events: { type: 'Normal' | 'Warning'; reason: string; message: string }[]
}

interface Verdict {
  reason: string
  message: string
}

const backoff = { first: 10_000, most: 600_000 }

/** `lastFailure` is when the last of its Pods failed that is not there any more. */
export function planJob(job: ApiObject, pods: readonly ApiObject[], now: Date, lastFailure = 0): JobPlan {
  const spec = recordOf(job['spec'])
  const was = recordOf(job['status'])
  const time = timestampOf(now)
  const tracked = pods.filter(pod => pod.metadata.finalizers?.includes(tracking))
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
    end: [],
    release: counted,
    againAt: undefined,
    lastFailure: failedAt,
    events: [],
  }
  const settled = (types: string[], verdict: Verdict) => {
    const missing = types.filter(type => !conditions.some(one => one['type'] === type))
    status['conditions'] = [...conditions, ...missing.map(type => condition(type, verdict, time))]
  }

  if (succeeded >= numberOf(spec['completions'], 1)) {
    const verdict = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
    settled(['SuccessCriteriaMet', ...(alive.length === 0 ? ['Complete'] : [])], verdict)
    plan.end = active
    if (alive.length === 0) {
      status['completionTime'] = time
      plan.events.push({ type: 'Normal', reason: 'Completed', message: 'Job completed' })
    }
    return plan
  }

  const failure = failureOf(spec, conditions, active, failed, startTime, now)
  if (failure) {
    settled(['FailureTarget', ...(alive.length === 0 ? ['Failed'] : [])], failure)
    plan.end = active
    if (alive.length === 0) plan.events.push({ type: 'Warning', ...failure })
    return plan
  }

  if (spec['suspend'] === true) {
    settled(['Suspended'], { reason: 'JobSuspended', message: 'Job suspended' })
    plan.end = active
    return plan
  }

  const deadline = spec['activeDeadlineSeconds']
  if (deadline !== undefined) plan.againAt = Date.parse(textOf(startTime)) + numberOf(deadline) * 1000
  const mayReplace = spec['podReplacementPolicy'] === 'Failed' ? alive.length === 0 : active.length === 0
  if (mayReplace && numberOf(spec['parallelism'], 1) > 0) {
    const from = failed === 0 ? 0 : failedAt + Math.min(backoff.first * 2 ** (failed - 1), backoff.most)
    if (from <= now.getTime()) plan.createPod = true
    else plan.againAt = Math.min(from, plan.againAt ?? from)
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
): Verdict | undefined {
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

/** With OnFailure it is the restarts of the containers that count: restart number L is killed as it starts. */
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

function condition(type: string, { reason, message }: Verdict, time: string): Fields {
  return { type, status: 'True', lastProbeTime: time, lastTransitionTime: time, reason, message }
}

function phaseOf(pod: ApiObject): string {
  return textOf(valueAt(pod, 'status', 'phase'))
}

/** It ran to its end, or it was taken away by force. */
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
