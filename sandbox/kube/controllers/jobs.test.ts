import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, settled, statusOf } from '../cluster.fixture.ts'
import { type ApiObject, type Fields, listOf, recordOf } from '../json.ts'

const jobsId = 'batch/jobs'

const aJob = (spec: Fields = {}): Fields => ({
  metadata: { name: 'j' },
  spec: {
    backoffLimit: 2,
    podReplacementPolicy: 'Failed',
    ...spec,
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: { restartPolicy: 'OnFailure', nodeName: 'n1', containers: [{ name: 'c', image: 'x:1' }] },
    },
  },
})

async function started(spec: Fields = {}) {
  const cluster = aCluster()
  cluster.create(jobsId, aJob(spec))
  await settled()
  const pods = () => cluster.store.list('/pods')
  const pod = (): ApiObject => {
    const [only] = pods()
    assert.ok(only)
    return only
  }
  return {
    ...cluster,
    pods,
    pod,
    job: () => cluster.get(jobsId, 'j'),
    conditions: () =>
      listOf(statusOf(cluster.get(jobsId, 'j'))['conditions'])
        .map(recordOf)
        .map(one => `${one['type']}=${one['status']} ${one['reason']}`),
    async report(status: Fields) {
      cluster.patch(
        '/pods',
        pod().metadata.name,
        'strategic',
        { status },
        { subresource: 'status', manager: 'kubelet' },
      )
      await settled()
    },
  }
}

test('a Job gets one Pod, known by its labels, its owner and its name', async t => {
  const cloudState = await started()
  t.after(cloudState.close)
  const { metadata } = cloudState.pod()
  const uid = cloudState.job().metadata.uid
  assert.match(metadata.name, /^j-[a-z0-9]{5}$/)
  assert.deepEqual(metadata.labels, {
    app: 'agent',
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': 'j',
    'controller-uid': uid,
    'job-name': 'j',
  })
  assert.deepEqual(metadata.ownerReferences, [
    { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid, controller: true, blockOwnerDeletion: true },
  ])
  assert.deepEqual(statusOf(cloudState.job()), {
    active: 1,
    ready: 0,
    startTime: '2026-01-01T00:00:00Z',
    terminating: 0,
    uncountedTerminatedPods: {},
  })
})

test('a Pod that succeeds completes the Job', async t => {
  const cloudState = await started()
  t.after(cloudState.close)
  cloudState.pass(5)
  await cloudState.report({ phase: 'Succeeded' })
  assert.deepEqual(cloudState.conditions(), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ])
  const { succeeded, completionTime, active } = statusOf(cloudState.job())
  assert.deepEqual([succeeded, completionTime, active], [1, '2026-01-01T00:00:05Z', undefined])
  assert.equal(cloudState.pods().length, 1)
})

test('restart number L is one too many, and the Pod is deleted', async t => {
  const cloudState = await started({ backoffLimit: 2 })
  t.after(cloudState.close)
  const restarted = (restartCount: number) => ({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount }] })
  await cloudState.report(restarted(1))
  assert.deepEqual(cloudState.conditions(), [])
  await cloudState.report(restarted(2))
  assert.deepEqual(cloudState.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
  assert.ok(cloudState.pod().metadata.deletionTimestamp)
  cloudState.remove('/pods', cloudState.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(cloudState.conditions(), [
    'FailureTarget=True BackoffLimitExceeded',
    'Failed=True BackoffLimitExceeded',
  ])
  assert.deepEqual(cloudState.pods(), [])
  assert.equal(statusOf(cloudState.job())['failed'], 1)
})

test('with a limit of 0 the first restart is one too many', async t => {
  const cloudState = await started({ backoffLimit: 0 })
  t.after(cloudState.close)
  await cloudState.report({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount: 1 }] })
  assert.deepEqual(cloudState.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
})

test('a Job that takes too long fails, and its Pod goes', async t => {
  const cloudState = await started({ activeDeadlineSeconds: 10 })
  t.after(cloudState.close)
  cloudState.pass(11)
  await cloudState.report({ phase: 'Running' })
  cloudState.remove('/pods', cloudState.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(cloudState.conditions(), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded'])
})

test('a Pod that is taken away is replaced only when it is gone, and not at once', async t => {
  const cloudState = await started()
  t.after(cloudState.close)
  await cloudState.report({ phase: 'Running' })
  const first = cloudState.pod().metadata.name
  cloudState.remove('/pods', first)
  await settled()
  assert.deepEqual(
    cloudState.pods().map(pod => pod.metadata.name),
    [first],
  )
  cloudState.remove('/pods', first, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(cloudState.pods(), [])
  cloudState.pass(11)
  cloudState.patch(jobsId, 'j', 'merge', { metadata: { labels: { touched: 'yes' } } })
  await settled()
  assert.notEqual(cloudState.pod().metadata.name, first)
  assert.equal(statusOf(cloudState.job())['failed'], 1)
})

test('a finished Job goes when its time has come', async t => {
  const cloudState = await started({ ttlSecondsAfterFinished: 60 })
  t.after(cloudState.close)
  await cloudState.report({ phase: 'Succeeded' })
  cloudState.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'b' } } })
  await settled()
  assert.equal(cloudState.has(jobsId, 'j'), true)
  cloudState.pass(61)
  cloudState.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'c' } } })
  await settled()
  assert.equal(cloudState.has(jobsId, 'j'), false)
  assert.deepEqual(cloudState.pods(), [])
})

test('the Pods of a deleted Job go with it', async t => {
  const cloudState = await started()
  t.after(cloudState.close)
  cloudState.remove(jobsId, 'j', { propagationPolicy: 'Background' })
  await settled()
  assert.equal(cloudState.has(jobsId, 'j'), false)
  assert.ok(cloudState.pod().metadata.deletionTimestamp)
  cloudState.remove('/pods', cloudState.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(cloudState.pods(), [])
})

test('a suspended Job has no Pod', async t => {
  const cloudState = await started({ suspend: true })
  t.after(cloudState.close)
  assert.deepEqual(cloudState.pods(), [])
  assert.deepEqual(cloudState.conditions(), ['Suspended=True JobSuspended'])
})

test('what happened is told in Events', async t => {
  const cloudState = await started()
  t.after(cloudState.close)
  await cloudState.report({ phase: 'Succeeded' })
  const told = cloudState.store.list('/events').map(event => `${event['type']} ${event['reason']}`)
  assert.deepEqual(told.sort(), ['Normal Completed', 'Normal SuccessfulCreate'])
})
