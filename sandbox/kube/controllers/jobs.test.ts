import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, flushImmediates, statusOf } from '../cluster.fixture.ts'

const jobsId = 'batch/jobs'

test('a deleted Pod is replaced after it is gone and the backoff has passed', async t => {
  const cluster = aCluster()
  t.after(cluster.close)
  const podNames = () => cluster.store.list('/pods').map(pod => pod.metadata.name)
  const containers = [{ name: 'c', image: 'x:1' }]
  cluster.create(jobsId, {
    metadata: { name: 'j' },
    spec: {
      podReplacementPolicy: 'Failed',
      template: { spec: { restartPolicy: 'OnFailure', nodeName: 'n1', containers } },
    },
  })
  await flushImmediates()
  const [first = ''] = podNames()
  const running = { status: { phase: 'Running' } }
  cluster.patch('/pods', first, 'merge', running, { subresource: 'status', manager: 'kubelet' })
  await flushImmediates()

  cluster.remove('/pods', first)
  await flushImmediates()
  assert.deepEqual(podNames(), [first])
  cluster.remove('/pods', first, { gracePeriodSeconds: 0 })
  await flushImmediates()
  assert.deepEqual(podNames(), [])

  cluster.advance(11)
  cluster.patch(jobsId, 'j', 'merge', { metadata: { labels: { touched: 'yes' } } })
  await flushImmediates()
  const [second, ...more] = podNames()
  assert.ok(second !== undefined && second !== first)
  assert.deepEqual(more, [])
  assert.equal(statusOf(cluster.get(jobsId, 'j'))['failed'], 1)
})
