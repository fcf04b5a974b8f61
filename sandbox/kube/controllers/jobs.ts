/**
 * The Job controller: creates the Pod of a Job, counts results, and deletes finished Jobs after their TTL.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { messageOf } from '../../../src/runtime/errors.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { type ApiObject, type Fields, numberOf, recordOf, textOf } from '../json.ts'
import type { Kinds } from '../kinds/kinds.ts'
import { objectId, type Store } from '../objects/store.ts'
import { targetFor, targetOfObject } from '../objects/target.ts'
import type { Verbs } from '../objects/verbs.ts'
import { recordEvent } from './events.ts'
import { isFinishedJob, planJob, trackingFinalizer } from './job-plan.ts'

const jobsId = 'batch/jobs'
const podsId = '/pods'
const manager = 'kube-controller-manager'

export interface JobControllerOptions {
  store: Store
  kinds: Kinds
  verbs: Verbs
  now: () => Date
  log: Log
}

export function startJobController({ store, kinds, verbs, now, log }: JobControllerOptions): { close(): void } {
  const pending = new Map<string, { namespace: string; name: string }>()
  const timers = new Map<string, NodeJS.Timeout>()
  const failures = new Map<string, number>()
  let scheduled: NodeJS.Immediate | undefined

  const enqueue = (namespace: string, name: string) => {
    pending.set(objectId(namespace, name), { namespace, name })
    scheduled ??= setImmediate(processQueue)
  }

  const enqueueAt = (namespace: string, name: string, time: number) => {
    const id = objectId(namespace, name)
    clearTimeout(timers.get(id))
    const wait = Math.min(Math.max(0, time - now().getTime()), 2 ** 31 - 1)
    const timer = setTimeout(() => enqueue(namespace, name), wait)
    timer.unref()
    timers.set(id, timer)
  }

  const handleChange = (kind: string, { metadata }: ApiObject, gone = false) => {
    const { namespace = '', uid = '' } = metadata
    if (gone) failures.delete(uid)
    if (kind === jobsId) enqueue(namespace, metadata.name)
    if (kind !== podsId) return
    const owner = metadata.ownerReferences?.find(one => one.controller === true && one.kind === 'Job')
    if (owner) enqueue(namespace, owner.name)
    else if (metadata.finalizers?.includes(trackingFinalizer)) enqueue(namespace, '')
  }

  const processQueue = () => {
    scheduled = undefined
    const jobs = [...pending.values()]
    pending.clear()
    for (const { namespace, name } of jobs) {
      try {
        sync(namespace, name)
      } catch (error) {
        log.warn('job sync failed', { namespace, job: name, error: messageOf(error) })
      }
    }
  }

  const sync = (namespace: string, name: string) => {
    const job = store.get(jobsId, namespace, name)
    if (!job || job.metadata.deletionTimestamp) return releaseOrphans(namespace)
    const pods = podsOf(job)
    const finished = isFinishedJob(job)
    if (finished) {
      for (const pod of pods) release(pod)
      return expire(job, finished)
    }
    const { uid = '' } = job.metadata
    const plan = planJob(job, pods, now(), failures.get(uid))
    failures.set(uid, plan.lastFailure)
    if (!equalJson(plan.status, recordOf(job['status']))) {
      verbs.update(targetOfObject(kinds, jobsId, job, 'status'), { ...job, status: plan.status }, { manager })
    }
    for (const pod of plan.podsToRelease) release(pod)
    for (const pod of plan.podsToDelete) {
      verbs.remove(targetOfObject(kinds, podsId, pod))
      recordJobEvent(job, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
    }
    if (plan.createPod) createPod(job)
    for (const { type, reason, message } of plan.events) recordJobEvent(job, type, reason, message)
    if (plan.recheckAt !== undefined) enqueueAt(namespace, name, plan.recheckAt)
  }

  const podsOf = ({ metadata: { namespace, uid } }: ApiObject): ApiObject[] =>
    podsIn(namespace).filter(pod => pod.metadata.ownerReferences?.some(one => one.controller && one.uid === uid))

  /** Unsorted: this runs at every step of every Job. */
  const podsIn = (namespace = ''): ApiObject[] =>
    [...store.all(podsId)].filter(pod => pod.metadata.namespace === namespace)

  const createPod = (job: ApiObject) => {
    const template = recordOf(recordOf(job['spec'])['template'])
    const metadata: Fields = recordOf(template['metadata'])
    const { namespace, name, uid = '' } = job.metadata
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true, blockOwnerDeletion: true }
    const target = targetFor(kinds, podsId, { namespace, name: '' })
    const pod = verbs.create(
      target,
      {
        metadata: { ...metadata, generateName: `${name}-`, ownerReferences: [owner], finalizers: [trackingFinalizer] },
        spec: template['spec'],
      },
      { manager },
    )
    recordJobEvent(job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
  }

  const release = (pod: ApiObject) => {
    const current = store.byUid(pod.metadata.uid ?? '')?.object
    if (!current?.metadata.finalizers?.includes(trackingFinalizer)) return
    const finalizers = current.metadata.finalizers.filter(name => name !== trackingFinalizer)
    const next = { ...current, metadata: { ...current.metadata, finalizers } }
    verbs.update(targetOfObject(kinds, podsId, current), next, { manager })
  }

  /** Pods without a Job need no tracking. */
  const releaseOrphans = (namespace: string) => {
    for (const pod of podsIn(namespace)) {
      if (!pod.metadata.finalizers?.includes(trackingFinalizer)) continue
      const owner = pod.metadata.ownerReferences?.find(one => one.controller && one.kind === 'Job')
      const job = owner && store.byUid(owner.uid)?.object
      if (!job || job.metadata.deletionTimestamp) release(pod)
    }
  }

  const expire = (job: ApiObject, finished: Fields) => {
    const ttl = recordOf(job['spec'])['ttlSecondsAfterFinished']
    if (ttl === undefined) return
    const { namespace = '', name, uid } = job.metadata
    const due = Date.parse(textOf(finished['lastTransitionTime'])) + numberOf(ttl) * 1000
    if (due > now().getTime()) return enqueueAt(namespace, name, due)
    verbs.remove(targetOfObject(kinds, jobsId, job), { propagationPolicy: 'Foreground', ...(uid && { uid }) })
  }

  const recordJobEvent = (job: ApiObject, type: 'Normal' | 'Warning', reason: string, message: string) => {
    try {
      recordEvent({ kinds, verbs, now }, job, { type, reason, message, component: 'job-controller' })
    } catch (error) {
      log.debug('event was not recorded', { reason, error: messageOf(error) })
    }
  }

  const stop = store.subscribe(change => handleChange(change.kind, change.object, change.type === 'DELETED'))
  for (const job of store.list(jobsId)) handleChange(jobsId, job)
  return {
    close() {
      stop()
      clearImmediate(scheduled)
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
