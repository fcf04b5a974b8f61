/**
 * Errors that keep a Pod from starting and that only Events show: admission rejected it, or a directory is missing.
 *
 * The controller lists Events when a Pod is overdue, with a minimum interval per Job. It never watches them.
 */
import type { Kube } from '../kube/api.ts'
import { events } from '../kube/resources.ts'
import type { EventObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'
import { eventsRefreshMs, eventsRetryMs, podOverdueMs } from './plan/delays.ts'
import type { AgentJob, PodStartError } from './plan/observed.ts'

export interface PodStartErrors {
  of(jobUid: string): PodStartError | undefined
  /** The Jobs whose Events have to be read now. */
  overdue(jobs: AgentJob[], now: number): AgentJob[]
  readEvents(overdue: AgentJob[], now: number): Promise<void>
}

export function createPodStartErrors(kube: Pick<Kube, 'list'>, namespace: string, log: Log): PodStartErrors {
  const known = new Map<string, { readAt: number; error?: PodStartError }>()

  async function eventsAbout(uid: string): Promise<EventObject[]> {
    return (await kube.list(events, { namespace, fieldSelector: `involvedObject.uid=${uid}` })).items
  }

  return {
    of: jobUid => known.get(jobUid)?.error,
    overdue(jobs, now) {
      return jobs.filter(({ uid, phase, createdAt }) => {
        if (phase === 'ended') known.delete(uid)
        if (!uid || phase !== 'waiting' || now - createdAt < podOverdueMs) return false
        const { readAt = 0, error } = known.get(uid) ?? {}
        return now - readAt >= (error ? eventsRefreshMs : eventsRetryMs)
      })
    },
    async readEvents(overdue, now) {
      for (const { uid, podUids } of overdue) {
        known.set(uid, { readAt: now })
        try {
          const found = (await Promise.all([uid, ...podUids].map(eventsAbout))).flat()
          const error = podStartErrorIn(found)
          known.set(uid, { readAt: now, ...(error && { error }) })
        } catch (error) {
          log.warn('cannot list events of an overdue Pod', { error })
        }
      }
    },
  }
}

/** The newest Event that explains why the Pod does not start. */
export function podStartErrorIn(found: EventObject[]): PodStartError | undefined {
  const newestFirst = found.toSorted((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))
  for (const { reason, message } of newestFirst) {
    if (reason === 'FailedCreate' && /forbidden/i.test(message)) return { reason: 'PodForbidden', message }
    if (reason === 'FailedMount') return { reason: 'MountFailed', message }
  }
  return undefined
}
