/**
 * The Job controller: makes the Pod of a Job, counts how it ends, and deletes finished Jobs when their time has come.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { messageOf } from '../../../src/runtime/errors.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { type ApiObject, type Fields, numberOf, recordOf, textOf } from '../json.ts'
import type { Kinds } from '../kinds/kinds.ts'
import { objectId, type Store } from '../objects/store.ts'
import { targetFor, targetOfObject } from '../objects/targets.ts'
import type { Verbs } from '../objects/verbs.ts'
import { recordEvent } from './events.ts'
import { isFinishedJob, planJob, tracking } from './job-plan.ts'

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

  const look = (namespace: string, name: string) => {
    pending.set(objectId(namespace, name), { namespace, name })
    scheduled ??= setImmediate(pass)
  }

  const lookAt = (namespace: string, name: string, time: number) => {
    const id = objectId(namespace, name)
    clearTimeout(timers.get(id))
    const wait = Math.min(Math.max(0, time - now().getTime()), 2 ** 31 - 1)
    const timer = setTimeout(() => look(namespace, name), wait)
    timer.unref()
    timers.set(id, timer)
  }

  const notice = (kind: string, { metadata }: ApiObject, gone = false) => {
    const { namespace = '', uid = '' } = metadata
    if (gone) failures.delete(uid)
    if (kind === jobsId) look(namespace, metadata.name)
    if (kind !== podsId) return
    const owner = metadata.ownerReferences?.find(one => one.controller === true && one.kind === 'Job')
    if (owner) look(namespace, owner.name)
    else if (metadata.finalizers?.includes(tracking)) look(namespace, '')
  }

  const pass = () => {
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
    for (const pod of plan.release) release(pod)
    for (const pod of plan.end) {
      verbs.remove(targetOfObject(kinds, podsId, pod))
      tell(job, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
    }
    if (plan.createPod) createPod(job)
    for (const { type, reason, message } of plan.events) tell(job, type, reason, message)
    if (plan.againAt !== undefined) lookAt(namespace, name, plan.againAt)
  }

  const podsOf = ({ metadata: { namespace, uid } }: ApiObject): ApiObject[] =>
    podsIn(namespace).filter(pod => pod.metadata.ownerReferences?.some(one => one.controller && one.uid === uid))

  /** Asked for at each step of each Job: a thousand Pods are not sorted for it. */
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
        metadata: { ...metadata, generateName: `${name}-`, ownerReferences: [owner], finalizers: [tracking] },
        spec: template['spec'],
      },
      { manager },
    )
    tell(job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
  }

  const release = (pod: ApiObject) => {
    const current = store.byUid(pod.metadata.uid ?? '')?.object
    if (!current?.metadata.finalizers?.includes(tracking)) return
    const finalizers = current.metadata.finalizers.filter(name => name !== tracking)
    const next = { ...current, metadata: { ...current.metadata, finalizers } }
    verbs.update(targetOfObject(kinds, podsId, current), next, { manager })
  }

  /** Pods whose Job is gone are counted by nobody. */
  const releaseOrphans = (namespace: string) => {
    for (const pod of podsIn(namespace)) {
      if (!pod.metadata.finalizers?.includes(tracking)) continue
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
    if (due > now().getTime()) return lookAt(namespace, name, due)
    verbs.remove(targetOfObject(kinds, jobsId, job), { propagationPolicy: 'Foreground', ...(uid && { uid }) })
  }

  const tell = (job: ApiObject, type: 'Normal' | 'Warning', reason: string, message: string) => {
    try {
      recordEvent({ kinds, verbs, now }, job, { type, reason, message, component: 'job-controller' })
    } catch (error) {
      log.debug('event was not recorded', { reason, error: messageOf(error) })
    }
  }

  const stop = store.subscribe(change => notice(change.kind, change.object, change.type === 'DELETED'))
  for (const job of store.list(jobsId)) notice(jobsId, job)
  return {
    close() {
      stop()
      clearImmediate(scheduled)
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
