/**
 * Errors that keep a Pod from starting and that only Events show: admission rejected it, or a directory is missing.
 *
 * One read covers all Jobs: a cluster in which no Pod starts would otherwise cost a request per node. The controller never
 * watches Events.
 */
import type { Kube } from '../kube/api.ts'
import { events } from '../kube/resources.ts'
import type { EventObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'
import { eventsRefreshMs, podLateMs, podOverdueMs } from './plan/delays.ts'
import type { AgentJob, PodStartError } from './plan/observed.ts'

export interface PodStartErrors {
  of(job: Pick<AgentJob, 'uid' | 'podUids'>): PodStartError | undefined
  /** Whether the Events have to be read for one of these Jobs. */
  areDue(jobs: readonly AgentJob[], now: number): boolean
  readEvents(now: number): Promise<void>
}

/** Plans at equal intervals run with different delays: the second of two must not miss the read by some milliseconds. */
const delayMs = 500

export function createPodStartErrors(kube: Pick<Kube, 'list'>, namespace: string, log: Log): PodStartErrors {
  /** By the uid of the Job or Pod. */
  let known = new Map<string, PodStartError>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    try {
      const lists = ['Job', 'Pod'].map(kind =>
        kube.list(events, { namespace, fieldSelector: `type=Warning,involvedObject.kind=${kind}` }),
      )
      known = podStartErrorsIn((await Promise.all(lists)).flatMap(({ items }) => items))
    } catch (error) {
      log.warn('cannot list the Events of overdue Pods', { error })
    } finally {
      reading = undefined
    }
  }

  return {
    of: ({ uid, podUids }) => [uid, ...podUids].map(one => known.get(one)).find(error => error !== undefined),
    areDue: (jobs, now) =>
      jobs.some(({ uid, phase, createdAt }) => {
        const age = now - createdAt
        if (!uid || phase !== 'waiting' || age < podOverdueMs) return false
        return now - readAt >= (age < podLateMs ? podOverdueMs : eventsRefreshMs) - delayMs
      }),
    readEvents(now) {
      readAt = now
      reading ??= read()
      return reading
    },
  }
}

/** For each object, the newest Event that explains why its Pod does not start. */
function podStartErrorsIn(found: EventObject[]): Map<string, PodStartError> {
  const oldestFirst = found.toSorted((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? -1 : 1))
  return new Map(
    oldestFirst.flatMap(event => {
      const error = podStartErrorOf(event)
      return error ? [[event.involvedObject.uid ?? '', error]] : []
    }),
  )
}

function podStartErrorOf({ reason, message }: EventObject): PodStartError | undefined {
  if (reason === 'FailedCreate') return { reason: admissionReasonIn(message) ?? 'PodCreateFailed', message }
  if (reason === 'FailedMount') return { reason: 'MountFailed', message }
  if (reason === 'FailedCreatePodSandBox') return { reason: 'PodNotStarting', message }
  return undefined
}

/** What an API server says when it does not admit an object. A quota is "forbidden" too. */
export function admissionReasonIn(message: string): 'QuotaExceeded' | 'WebhookFailed' | 'PodForbidden' | undefined {
  if (/(exceeded|failed|unknown for) quota/i.test(message)) return 'QuotaExceeded'
  if (/admission webhook|calling webhook/i.test(message)) return 'WebhookFailed'
  return /forbidden/i.test(message) ? 'PodForbidden' : undefined
}
