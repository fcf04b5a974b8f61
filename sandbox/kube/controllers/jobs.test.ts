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
  const world = await started()
  t.after(world.close)
  const { metadata } = world.pod()
  const uid = world.job().metadata.uid
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
  assert.deepEqual(statusOf(world.job()), {
    active: 1,
    ready: 0,
    startTime: '2026-01-01T00:00:00Z',
    terminating: 0,
    uncountedTerminatedPods: {},
  })
})

test('a Pod that succeeds completes the Job', async t => {
  const world = await started()
  t.after(world.close)
  world.pass(5)
  await world.report({ phase: 'Succeeded' })
  assert.deepEqual(world.conditions(), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ])
  const { succeeded, completionTime, active } = statusOf(world.job())
  assert.deepEqual([succeeded, completionTime, active], [1, '2026-01-01T00:00:05Z', undefined])
  assert.equal(world.pods().length, 1)
})

test('restart number L is one too many, and the Pod is deleted', async t => {
  const world = await started({ backoffLimit: 2 })
  t.after(world.close)
  const restarted = (restartCount: number) => ({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount }] })
  await world.report(restarted(1))
  assert.deepEqual(world.conditions(), [])
  await world.report(restarted(2))
  assert.deepEqual(world.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
  assert.ok(world.pod().metadata.deletionTimestamp)
  world.remove('/pods', world.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(world.conditions(), ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'])
  assert.deepEqual(world.pods(), [])
  assert.equal(statusOf(world.job())['failed'], 1)
})

test('with a limit of 0 the first restart is one too many', async t => {
  const world = await started({ backoffLimit: 0 })
  t.after(world.close)
  await world.report({ phase: 'Running', containerStatuses: [{ name: 'c', restartCount: 1 }] })
  assert.deepEqual(world.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
})

test('a Job that takes too long fails, and its Pod goes', async t => {
  const world = await started({ activeDeadlineSeconds: 10 })
  t.after(world.close)
  world.pass(11)
  await world.report({ phase: 'Running' })
  world.remove('/pods', world.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(world.conditions(), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded'])
})

test('a Pod that is taken away is replaced only when it is gone, and not at once', async t => {
  const world = await started()
  t.after(world.close)
  await world.report({ phase: 'Running' })
  const first = world.pod().metadata.name
  world.remove('/pods', first)
  await settled()
  assert.deepEqual(
    world.pods().map(pod => pod.metadata.name),
    [first],
  )
  world.remove('/pods', first, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(world.pods(), [])
  world.pass(11)
  world.patch(jobsId, 'j', 'merge', { metadata: { labels: { touched: 'yes' } } })
  await settled()
  assert.notEqual(world.pod().metadata.name, first)
  assert.equal(statusOf(world.job())['failed'], 1)
})

test('a finished Job goes when its time has come', async t => {
  const world = await started({ ttlSecondsAfterFinished: 60 })
  t.after(world.close)
  await world.report({ phase: 'Succeeded' })
  world.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'b' } } })
  await settled()
  assert.equal(world.has(jobsId, 'j'), true)
  world.pass(61)
  world.patch(jobsId, 'j', 'merge', { metadata: { labels: { a: 'c' } } })
  await settled()
  assert.equal(world.has(jobsId, 'j'), false)
  assert.deepEqual(world.pods(), [])
})

test('the Pods of a deleted Job go with it', async t => {
  const world = await started()
  t.after(world.close)
  world.remove(jobsId, 'j', { propagationPolicy: 'Background' })
  await settled()
  assert.equal(world.has(jobsId, 'j'), false)
  assert.ok(world.pod().metadata.deletionTimestamp)
  world.remove('/pods', world.pod().metadata.name, { gracePeriodSeconds: 0 })
  await settled()
  assert.deepEqual(world.pods(), [])
})

test('a suspended Job has no Pod', async t => {
  const world = await started({ suspend: true })
  t.after(world.close)
  assert.deepEqual(world.pods(), [])
  assert.deepEqual(world.conditions(), ['Suspended=True JobSuspended'])
})

test('what happened is told in Events', async t => {
  const world = await started()
  t.after(world.close)
  await world.report({ phase: 'Succeeded' })
  const told = world.store.list('/events').map(event => `${event['type']} ${event['reason']}`)
  assert.deepEqual(told.sort(), ['Normal Completed', 'Normal SuccessfulCreate'])
})
