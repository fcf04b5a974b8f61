import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../json.ts'
import { createStore } from './store.ts'

const object = (name: string, namespace?: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: `uid-${name}`, ...(namespace && { namespace }) },
})

test('a list is sorted by namespace and name, and can be limited to a namespace', () => {
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

test('the log is bounded: it cannot be read from an old version', () => {
  const store = createStore({ logSize: 10 })
  for (let count = 0; count < 40; count++) store.put('/things', object('a'))
  assert.equal(store.since(1), undefined)
  assert.equal(store.since(39)?.length, 1)
  assert.ok(store.oldest() > 20 && store.oldest() < 40)
})

test('a compaction drops the log', () => {
  const store = createStore()
  store.put('/things', object('a'))
  store.put('/things', object('b'))
  store.compact()
  assert.equal(store.since(1), undefined)
  assert.deepEqual(store.since(2), [])
})
