import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../json.ts'
import { type Change, createStore } from './store.ts'

const object = (name: string, namespace?: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: `uid-${name}`, ...(namespace && { namespace }) },
})

test('one version rises with every change of any kind', () => {
  const store = createStore()
  assert.equal(store.put('/things', object('a')).metadata.resourceVersion, '1')
  assert.equal(store.put('/others', object('a')).metadata.resourceVersion, '2')
  assert.equal(store.put('/things', object('a')).metadata.resourceVersion, '3')
  assert.equal(store.remove('/things', object('a')).metadata.resourceVersion, '4')
  assert.equal(store.version(), 4)
})

test('a list is in the order of namespace and name, and a namespace sees only its own', () => {
  const store = createStore()
  for (const [name, namespace] of [
    ['b', 'two'],
    ['a', 'two'],
    ['c', 'one'],
    ['a', 'two-more'],
  ] as const) {
    store.put('/things', object(name, namespace))
  }
  const ids = (objects: ApiObject[]) => objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  assert.deepEqual(ids(store.list('/things')), ['one/c', 'two/a', 'two/b', 'two-more/a'])
  assert.deepEqual(ids(store.list('/things', 'two')), ['two/a', 'two/b'])
  assert.deepEqual(store.list('/nothing'), [])
})

test('a list can be read as it was at a version, as far back as the log goes', () => {
  const store = createStore()
  const first = store.put('/things', object('a'))
  store.put('/things', object('b'))
  store.put('/others', object('x'))
  store.remove('/things', first)
  const second = store.put('/things', object('b'))
  const at = (version: number) => {
    return store.listAt(version, '/things')?.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
  }
  assert.deepEqual(at(1), ['a 1'])
  assert.deepEqual(at(3), ['a 1', 'b 2'])
  assert.deepEqual(at(5), [`b ${second.metadata.resourceVersion}`])
  store.compact()
  assert.equal(at(4), undefined)
  assert.equal(at(5)?.length, 1)
})

test('changes since a version come in order, each with what was before', () => {
  const store = createStore()
  const first = store.put('/things', object('a'))
  store.put('/things', object('b'))
  store.remove('/things', first)
  const told = (changes: Change[] | undefined) =>
    changes?.map(({ type, object, old }) => `${type} ${object.metadata.name} ${old?.metadata.resourceVersion ?? '-'}`)
  assert.deepEqual(told(store.since(0)), ['ADDED a -', 'ADDED b -', 'DELETED a 1'])
  assert.deepEqual(told(store.since(2)), ['DELETED a 1'])
  assert.deepEqual(told(store.since(3)), [])
})

test('the log is bounded: who is too far behind is told so', () => {
  const store = createStore({ logSize: 10 })
  for (let count = 0; count < 40; count++) store.put('/things', object('a'))
  assert.equal(store.since(1), undefined)
  assert.equal(store.since(39)?.length, 1)
  assert.ok(store.oldest() > 20 && store.oldest() < 40)
})

test('a compaction forgets all that was', () => {
  const store = createStore()
  store.put('/things', object('a'))
  store.put('/things', object('b'))
  store.compact()
  assert.equal(store.since(1), undefined)
  assert.deepEqual(store.since(2), [])
})

test('objects are found by their uid until they are gone', () => {
  const store = createStore()
  const kept = store.put('/things', object('a'))
  assert.equal(store.byUid('uid-a')?.object, kept)
  store.remove('/things', kept)
  assert.equal(store.byUid('uid-a'), undefined)
})

test('a snapshot brings everything back, and watches start anew', () => {
  const store = createStore()
  store.put('/things', object('a', 'one'))
  store.put('/things', object('b', 'one'))
  const again = createStore({ from: JSON.parse(JSON.stringify(store.snapshot())) })
  assert.deepEqual(again.list('/things'), store.list('/things'))
  assert.equal(again.put('/things', object('c', 'one')).metadata.resourceVersion, '3')
  assert.equal(again.since(1), undefined)
})
