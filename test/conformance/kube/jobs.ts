/**
 * Jobs and their Pods. There is no node: the cases update the Pod status themselves, like a kubelet.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInvalid } from '../../../src/kube/errors.ts'
import { objectPath } from '../../../src/kube/paths.ts'
import { events, jobs, pods } from '../../../src/kube/resources.ts'
import type { JobObject, PodObject } from '../../../src/kube/types.ts'
import { eventually } from '../../support/eventually.ts'
import { type KubeContext, present, rejection } from './context.ts'

const soon = { within: 30_000, every: 100 }
const bound = { timeout: 90_000 }

export function jobCases(context: () => KubeContext): void {
  function aJob(name: string, spec: Partial<JobObject['spec']> = {}): JobObject {
    const { namespace } = context()
    return {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace, labels: { 'multinic.io/action': 'apply' } },
      spec: {
        completions: 1,
        parallelism: 1,
        backoffLimit: 6,
        podReplacementPolicy: 'Failed',
        activeDeadlineSeconds: 600,
        template: {
          metadata: { labels: { 'multinic.io/action': 'apply' } },
          spec: {
            nodeName: `node-of-${name}`,
            hostNetwork: true,
            restartPolicy: 'OnFailure',
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 30,
            tolerations: [{ operator: 'Exists' }],
            containers: [{ name: 'agent', image: 'none', terminationMessagePolicy: 'FallbackToLogsOnError' }],
          },
        },
        ...spec,
      },
    }
  }

  const podsOf = async (job: string) =>
    (await context().kube.list(pods, { namespace: context().namespace, labelSelector: `job-name=${job}` })).items

  async function podOf(job: string): Promise<PodObject> {
    return eventually(async () => {
      const [pod] = await podsOf(job)
      assert.ok(pod, `a Pod of ${job}`)
      return pod
    }, soon)
  }

  const keyOf = ({ metadata: { name } }: PodObject) => ({ namespace: context().namespace, name })

  const conditionOf = async (name: string, type: string) =>
    (await present(context().kube, jobs, { namespace: context().namespace, name })).status?.conditions?.find(
      condition => condition.type === type && condition.status === 'True',
    )

  /** Until version 1.30 a Job has only its last condition; since 1.31 an earlier one says what it will be. */
  const hasEarlyConditions = async () => {
    const { body } = await context().kube.raw('GET', '/version')
    return Number.parseInt((body as { minor: string }).minor, 10) > 30
  }

  /** Like a kubelet after the containers of a deleted Pod have exited. */
  const confirmDeletion = (pod: PodObject) =>
    context().kube.raw('DELETE', objectPath(pods, keyOf(pod)), { gracePeriodSeconds: 0 })

  const finished = (phase: string, exitCode: number, message: string) => ({
    phase,
    containerStatuses: [
      {
        name: 'agent',
        image: 'none',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode, message, reason: exitCode ? 'Error' : 'Completed' } },
      },
    ],
  })

  test('a Job gets a Pod on its node and completes when the Pod has succeeded', bound, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const job = await kube.create(jobs, aJob(own))
    const pod = await podOf(own)
    assert.equal(pod.spec.nodeName, `node-of-${own}`)
    assert.ok(pod.metadata.name.startsWith(`${own}-`))
    const { labels = {}, ownerReferences = [] } = pod.metadata
    assert.equal(labels['multinic.io/action'], 'apply')
    assert.equal(labels['job-name'], own)
    assert.equal(labels['batch.kubernetes.io/job-name'], own)
    assert.equal(labels['controller-uid'], job.metadata.uid)
    assert.equal(labels['batch.kubernetes.io/controller-uid'], job.metadata.uid)
    assert.equal(ownerReferences[0]?.uid, job.metadata.uid)
    assert.equal(ownerReferences[0]?.controller, true)
    assert.equal(pod.status?.phase, 'Pending')
    await eventually(async () => {
      const { status } = await present(kube, jobs, { namespace, name: own })
      assert.equal(status?.active, 1)
      assert.ok(status?.startTime)
    }, soon)

    await kube.patchStatus(pods, keyOf(pod), finished('Succeeded', 0, '{"verdict":"Configured"}'))
    await eventually(async () => assert.ok(await conditionOf(own, 'Complete')), soon)
    const { status } = await present(kube, jobs, { namespace, name: own })
    assert.equal(status?.succeeded, 1)
    assert.equal(status?.active ?? 0, 0)
    assert.ok(status?.completionTime)
    assert.deepEqual(
      status?.conditions?.map(({ type, reason }) => `${type} ${reason}`),
      (await hasEarlyConditions())
        ? ['SuccessCriteriaMet CompletionsReached', 'Complete CompletionsReached']
        : ['Complete undefined'],
    )
    const finishedPod = await present(kube, pods, keyOf(pod))
    assert.equal(finishedPod.status?.containerStatuses?.[0]?.state?.terminated?.message, '{"verdict":"Configured"}')

    await eventually(async () => {
      const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${own}`
      const { items } = await kube.list(events, { namespace, fieldSelector })
      assert.deepEqual(items.map(({ type, reason }) => `${type} ${reason}`).sort(), [
        'Normal Completed',
        'Normal SuccessfulCreate',
      ])
    }, soon)

    await kube.delete(jobs, { namespace, name: own }, { propagation: 'Background' })
    await eventually(async () => assert.deepEqual(await podsOf(own), []), soon)
    assert.equal(await kube.get(jobs, { namespace, name: own }), undefined)
  })

  test('the Pod of a deleted Job stays until the kubelet confirms the deletion', bound, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own))
    const pod = await podOf(own)
    await kube.patchStatus(pods, keyOf(pod), { phase: 'Running' })
    await kube.delete(jobs, { namespace, name: own }, { propagation: 'Background' })
    await eventually(async () => {
      assert.ok((await present(kube, pods, keyOf(pod))).metadata.deletionTimestamp)
    }, soon)
    await confirmDeletion(pod)
    await eventually(async () => assert.deepEqual(await podsOf(own), []), soon)
  })

  test('container restarts count against backoffLimit, and the Pod is deleted', bound, async () => {
    const { kube, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own, { backoffLimit: 2 }))
    const pod = await podOf(own)
    const restarted = (restartCount: number) => ({
      phase: 'Running',
      containerStatuses: [{ name: 'agent', image: 'none', imageID: '', ready: true, restartCount, state: {} }],
    })
    await kube.patchStatus(pods, keyOf(pod), restarted(1))
    await kube.patchStatus(pods, keyOf(pod), restarted(2))
    await eventually(async () => {
      assert.ok((await present(kube, pods, keyOf(pod))).metadata.deletionTimestamp)
    }, soon)
    // With podReplacementPolicy Failed the condition waits until the Pod has ended.
    await kube.patchStatus(pods, keyOf(pod), finished('Failed', 137, ''))
    await eventually(async () => {
      assert.equal((await conditionOf(own, 'Failed'))?.reason, 'BackoffLimitExceeded')
    }, soon)
  })

  test('with backoffLimit 0 the first restart fails the Job', bound, async () => {
    const { kube, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own, { backoffLimit: 0 }))
    const pod = await podOf(own)
    const containerStatuses = [{ name: 'agent', image: 'none', imageID: '', ready: true, restartCount: 1, state: {} }]
    await kube.patchStatus(pods, keyOf(pod), { phase: 'Running', containerStatuses })
    const type = (await hasEarlyConditions()) ? 'FailureTarget' : 'Failed'
    await eventually(async () => {
      assert.equal((await conditionOf(own, type))?.reason, 'BackoffLimitExceeded')
      assert.ok((await present(kube, pods, keyOf(pod))).metadata.deletionTimestamp)
    }, soon)
  })

  test('a suspended Job has no Pod', bound, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own, { suspend: true }))
    await eventually(async () => assert.equal((await conditionOf(own, 'Suspended'))?.reason, 'JobSuspended'), soon)
    assert.deepEqual(await podsOf(own), [])
    await kube.delete(jobs, { namespace, name: own }, { propagation: 'Background' })
  })

  test('a Job fails after activeDeadlineSeconds', bound, async () => {
    const { kube, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own, { activeDeadlineSeconds: 1 }))
    const pod = await podOf(own)
    await eventually(async () => {
      assert.ok((await present(kube, pods, keyOf(pod))).metadata.deletionTimestamp)
    }, soon)
    await kube.patchStatus(pods, keyOf(pod), finished('Failed', 137, ''))
    await eventually(async () => assert.equal((await conditionOf(own, 'Failed'))?.reason, 'DeadlineExceeded'), soon)
  })

  test('a finished Job is deleted after its TTL', bound, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own, { ttlSecondsAfterFinished: 1 }))
    const pod = await podOf(own)
    await kube.patchStatus(pods, keyOf(pod), finished('Succeeded', 0, ''))
    await eventually(async () => assert.equal(await kube.get(jobs, { namespace, name: own }), undefined), soon)
    await eventually(async () => assert.deepEqual(await podsOf(own), []), soon)
  })

  test('the template of a Job is immutable', bound, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    await kube.create(jobs, aJob(own))
    const change = { spec: { template: { spec: { nodeName: 'another' } } } }
    const error = await rejection(kube.patch(jobs, { namespace, name: own }, change))
    assert.ok(isInvalid(error))
    assert.match(error.message, /spec\.template/)
    await kube.delete(jobs, { namespace, name: own }, { propagation: 'Background' })
  })
}
