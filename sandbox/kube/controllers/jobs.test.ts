import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, flushImmediates, statusOf } from '../cluster.fixture.ts'
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
  await flushImmediates()
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
      await flushImmediates()
    },
  }
}

test('a Job gets one Pod, known by its labels, its owner and its name', async t => {
  const cluster = await started()
  t.after(cluster.close)
  const { metadata } = cluster.pod()
  const uid = cluster.job().metadata.uid
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
  assert.deepEqual(statusOf(cluster.job()), {
    active: 1,
    ready: 0,
    startTime: '2026-01-01T00:00:00Z',
    terminating: 0,
    uncountedTerminatedPods: {},
  })
})

test('a Pod that succeeds completes the Job', async t => {
  const cluster = await started()
  t.after(cluster.close)
  cluster.advance(5)
  await cluster.report({ phase: 'Succeeded' })
  assert.deepEqual(cluster.conditions(), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ])
  const { succeeded, completionTime, active } = statusOf(cluster.job())
  assert.deepEqual([succeeded, completionTime, active], [1, '2026-01-01T00:00:05Z', undefined])
  assert.equal(cluster.pods().length, 1)
})

test('restart number L is one too many, and the Pod is deleted', async t => {
  const cluster = await started({ backoffLimit: 2 })
  t.after(cluster.close)
  const restarted = (restartCount: number) => ({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount }] })
  await cluster.report(restarted(1))
  assert.deepEqual(cluster.conditions(), [])
  await cluster.report(restarted(2))
  assert.deepEqual(cluster.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
  assert.ok(cluster.pod().metadata.deletionTimestamp)
  cluster.remove('/pods', cluster.pod().metadata.name, { gracePeriodSeconds: 0 })
  await flushImmediates()
  assert.deepEqual(cluster.conditions(), [
    'FailureTarget=True BackoffLimitExceeded',
    'Failed=True BackoffLimitExceeded',
  ])
  assert.deepEqual(cluster.pods(), [])
  assert.equal(statusOf(cluster.job())['failed'], 1)
})

test('with a limit of 0 the first restart is one too many', async t => {
  const cluster = await started({ backoffLimit: 0 })
  t.after(cluster.close)
  await cluster.report({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount: 1 }] })
  assert.deepEqual(cluster.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
})

test('a Job that takes too long fails, and its Pod goes', async t => {
  const cluster = await started({ activeDeadlineSeconds: 10 })
  t.after(cluster.close)
  cluster.advance(11)
  await cluster.report({ phase: 'Running' })
  cluster.remove('/pods', cluster.pod().metadata.name, { gracePeriodSeconds: 0 })
  await flushImmediates()
  assert.deepEqual(cluster.conditions(), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded'])
})

test('a Pod that is taken away is replaced only when it is gone, and not at once', async t => {
  const cluster = await started()
  t.after(cluster.close)
  await cluster.report({ phase: 'Running' })
  const first = cluster.pod().metadata.name
  cluster.remove('/pods', first)
  await flushImmediates()
  assert.deepEqual(
    cluster.pods().map(pod => pod.metadata.name),
    [first],
  )
  cluster.remove('/pods', first, { gracePeriodSeconds: 0 })
  await flushImmediates()
  assert.deepEqual(cluster.pods(), [])
  cluster.advance(11)
  cluster.patch(jobsId, 'j', 'merge', { metadata: { labels: { touched: 'yes' } } })
  await flushImmediates()
  assert.notEqual(cluster.pod().metadata.name, first)
  assert.equal(statusOf(cluster.job())['failed'], 1)
})

test('a finished Job goes when its time has come', async t => {
  const cluster = await started({ ttlSecondsAfterFinished: 60 })
  t.after(cluster.close)
  await cluster.report({ phase: 'Succeeded' })
  cluster.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'b' } } })
  await flushImmediates()
  assert.equal(cluster.has(jobsId, 'j'), true)
  cluster.advance(61)
  cluster.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'c' } } })
  await flushImmediates()
  assert.equal(cluster.has(jobsId, 'j'), false)
  assert.deepEqual(cluster.pods(), [])
})

test('the Pods of a deleted Job go with it', async t => {
  const cluster = await started()
  t.after(cluster.close)
  cluster.remove(jobsId, 'j', { propagationPolicy: 'Background' })
  await flushImmediates()
  assert.equal(cluster.has(jobsId, 'j'), false)
  assert.ok(cluster.pod().metadata.deletionTimestamp)
  cluster.remove('/pods', cluster.pod().metadata.name, { gracePeriodSeconds: 0 })
  await flushImmediates()
  assert.deepEqual(cluster.pods(), [])
})

test('a suspended Job has no Pod', async t => {
  const cluster = await started({ suspend: true })
  t.after(cluster.close)
  assert.deepEqual(cluster.pods(), [])
  assert.deepEqual(cluster.conditions(), ['Suspended=True JobSuspended'])
})

test('what happened is told in Events', async t => {
  const cluster = await started()
  t.after(cluster.close)
  await cluster.report({ phase: 'Succeeded' })
  const told = cluster.store.list('/events').map(event => `${event['type']} ${event['reason']}`)
  assert.deepEqual(told.sort(), ['Normal Completed', 'Normal SuccessfulCreate'])
})
