/**
 * Answers for the scheduler that the sandbox does not have: a Pod without a node gets the condition and the Event of a Pod that
 * cannot be scheduled, so that `kubectl describe` explains why it stays Pending.
 */
import { messageOf } from '../../../src/runtime/errors.ts'
import { type ApiObject, recordOf } from '../json.ts'
import { timestamp } from '../objects/metadata.ts'
import { targetOfObject } from '../objects/target.ts'
import { recordEvent } from './events.ts'
import type { JobControllerOptions } from './jobs.ts'

const podsId = '/pods'
const message = '0 nodes are available: the sandbox has no scheduler: set spec.nodeName'

export function reportUnscheduledPods({ store, kinds, verbs, now, log }: JobControllerOptions): { close(): void } {
  const report = (pod: ApiObject) => {
    const { namespace, name, uid } = pod.metadata
    const current = store.get(podsId, namespace, name)
    if (!current || current.metadata.uid !== uid || recordOf(current['spec'])['nodeName']) return
    const since = { lastProbeTime: null, lastTransitionTime: timestamp(now()) }
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, ...since }
    const target = targetOfObject(kinds, podsId, current, 'status')
    verbs.patch(target, 'merge', { status: { conditions: [condition] } }, { manager: 'kube-scheduler' })
    const event = { type: 'Warning' as const, reason: 'FailedScheduling', message, component: 'default-scheduler' }
    recordEvent({ kinds, verbs, now }, current, event)
  }
  const close = store.subscribe(({ kind, type, object }) => {
    if (kind !== podsId || type !== 'ADDED' || recordOf(object['spec'])['nodeName']) return
    setImmediate(() => {
      try {
        report(object)
      } catch (error) {
        log.warn('cannot report unscheduled Pod', { pod: object.metadata.name, error: messageOf(error) })
      }
    })
  })
  return { close }
}
