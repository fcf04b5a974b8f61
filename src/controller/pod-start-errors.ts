/**
 * Why a Pod does not start, where only Events tell: admission refused it, or a directory could not be mounted.
 *
 * Events are asked for when a Pod is late, at most once in a while a Job: they are never followed.
 */
import type { Kube } from '../kube/api.ts'
import { events } from '../kube/resources.ts'
import type { EventObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'
import type { AgentJob, Trouble } from './plan/observed.ts'
import { askAgainMs, askSoonMs, lateMs } from './plan/work.ts'

export interface Troubles {
  of(jobUid: string): Trouble | undefined
  /** Those among the Jobs that are to be asked about now. */
  late(jobs: AgentJob[], now: number): AgentJob[]
  ask(late: AgentJob[], now: number): Promise<void>
}

export function createTroubles(kube: Pick<Kube, 'list'>, namespace: string, log: Log): Troubles {
  const known = new Map<string, { asked: number; trouble?: Trouble }>()

  async function eventsAbout(uid: string): Promise<EventObject[]> {
    return (await kube.list(events, { namespace, fieldSelector: `involvedObject.uid=${uid}` })).items
  }

  return {
    of: jobUid => known.get(jobUid)?.trouble,
    late(jobs, now) {
      return jobs.filter(({ uid, phase, createdAt }) => {
        if (phase === 'ended') known.delete(uid)
        if (!uid || phase !== 'waiting' || now - createdAt < lateMs) return false
        const { asked = 0, trouble } = known.get(uid) ?? {}
        return now - asked >= (trouble ? askAgainMs : askSoonMs)
      })
    },
    async ask(late, now) {
      for (const { uid, podUids } of late) {
        known.set(uid, { asked: now })
        try {
          const told = (await Promise.all([uid, ...podUids].map(eventsAbout))).flat()
          const trouble = troubleIn(told)
          known.set(uid, { asked: now, ...(trouble && { trouble }) })
        } catch (error) {
          log.warn('the events of a late Pod could not be read', { error })
        }
      }
    },
  }
}

/** The newest Event that explains a Pod that does not start. */
export function troubleIn(told: EventObject[]): Trouble | undefined {
  const newestFirst = told.toSorted((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))
  for (const { reason, message } of newestFirst) {
    if (reason === 'FailedCreate' && /forbidden/i.test(message)) return { reason: 'PodForbidden', message }
    if (reason === 'FailedMount') return { reason: 'MountFailed', message }
  }
  return undefined
}
