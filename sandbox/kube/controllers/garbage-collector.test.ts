import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, aWidget, flushImmediates, widgetDefinition, widgetsId } from '../cluster.fixture.ts'
import type { ApiObject } from '../json.ts'

const definitions = 'apiextensions.k8s.io/customresourcedefinitions'

function widgets() {
  const cluster = aCluster()
  cluster.create(definitions, widgetDefinition())
  return cluster
}

const ownedBy = (...owners: ApiObject[]) => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    blockOwnerDeletion: true,
  })),
})

test('in the background the owner goes first and what it owns follows, to the last grandchild', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const owner = cluster.create(widgetsId, aWidget('owner'))
  const child = cluster.create(widgetsId, aWidget('child', {}, ownedBy(owner)))
  cluster.create('/configmaps', { metadata: { name: 'grandchild', ...ownedBy(child) } })
  cluster.create(widgetsId, aWidget('stranger'))
  cluster.remove(widgetsId, 'owner')
  assert.equal(cluster.has(widgetsId, 'owner'), false)
  await flushImmediates()
  assert.deepEqual(
    cluster.store.list(widgetsId).map(one => one.metadata.name),
    ['stranger'],
  )
  assert.equal(cluster.has('/configmaps', 'grandchild'), false)
})

test('what has another owner stays, without the one that is gone', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const [a, b] = [cluster.create(widgetsId, aWidget('a')), cluster.create(widgetsId, aWidget('b'))]
  cluster.create(widgetsId, aWidget('child', {}, ownedBy(a, b)))
  cluster.remove(widgetsId, 'a')
  await flushImmediates()
  assert.deepEqual(
    cluster.get(widgetsId, 'child').metadata.ownerReferences?.map(one => one.name),
    ['b'],
  )
})

test('in the foreground the owner waits for what it owns', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const owner = cluster.create(widgetsId, aWidget('owner'))
  cluster.create(widgetsId, aWidget('child', {}, { ...ownedBy(owner), finalizers: ['x.io/y'] }))
  cluster.remove(widgetsId, 'owner', { propagationPolicy: 'Foreground' })
  await flushImmediates()
  assert.deepEqual(cluster.get(widgetsId, 'owner').metadata.finalizers, ['foregroundDeletion'])
  assert.ok(cluster.get(widgetsId, 'child').metadata.deletionTimestamp)
  cluster.patch(widgetsId, 'child', 'merge', { metadata: { finalizers: null } })
  await flushImmediates()
  assert.deepEqual(cluster.store.list(widgetsId), [])
})

test('orphans stay and have no owner', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const owner = cluster.create(widgetsId, aWidget('owner'))
  cluster.create(widgetsId, aWidget('child', {}, ownedBy(owner)))
  cluster.remove(widgetsId, 'owner', { propagationPolicy: 'Orphan' })
  await flushImmediates()
  assert.equal(cluster.has(widgetsId, 'owner'), false)
  assert.equal(cluster.get(widgetsId, 'child').metadata.ownerReferences, undefined)
})

test('what is made for an owner that is gone goes too', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const owner = cluster.create(widgetsId, aWidget('owner'))
  cluster.remove(widgetsId, 'owner')
  cluster.create(widgetsId, aWidget('late', {}, ownedBy(owner)))
  await flushImmediates()
  assert.equal(cluster.has(widgetsId, 'late'), false)
})

test('a namespace takes its content with it, and waits for what is held', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.create('/namespaces', { metadata: { name: 'mine' } })
  cluster.create('/secrets', { metadata: { name: 's' } }, { namespace: 'mine' })
  cluster.create(widgetsId, aWidget('w', {}, { finalizers: ['x.io/y'] }), { namespace: 'mine' })
  cluster.create(widgetsId, aWidget('w'))
  cluster.remove('/namespaces', 'mine')
  await flushImmediates()
  assert.equal(cluster.has('/secrets', 's', 'mine'), false)
  assert.deepEqual(cluster.get('/namespaces', 'mine')['status'], { phase: 'Terminating' })
  cluster.patch(widgetsId, 'w', 'merge', { metadata: { finalizers: null } }, { namespace: 'mine' })
  await flushImmediates()
  assert.equal(cluster.store.get('/namespaces', undefined, 'mine'), undefined)
  assert.equal(cluster.has(widgetsId, 'w'), true)
})

test('an empty namespace goes at once', async t => {
  const cluster = aCluster()
  t.after(cluster.close)
  cluster.create('/namespaces', { metadata: { name: 'mine' } })
  cluster.remove('/namespaces', 'mine')
  await flushImmediates()
  assert.equal(cluster.store.get('/namespaces', undefined, 'mine'), undefined)
})

test('a definition takes its objects with it and is served no more', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.create(widgetsId, aWidget('w'))
  cluster.remove(definitions, 'widgets.test.example.com')
  await flushImmediates()
  assert.deepEqual(cluster.store.list(widgetsId), [])
  assert.deepEqual(cluster.store.list(definitions), [])
  assert.equal(cluster.kinds.find('test.example.com', 'v1', 'widgets'), undefined)
})
