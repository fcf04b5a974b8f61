import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectionOf } from '../cluster.fixture.ts'
import type { ApiObject } from '../json.ts'
import { createStore, type Store } from './store.ts'
import { watch } from './watch.ts'

const labelled = (name: string, label: string, namespace = 'one'): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, namespace, labels: { l: label } },
})

function watching(store: Store, from: number | undefined, more: { label?: string; initialEvents?: boolean } = {}) {
  const told: string[] = []
  const stop = watch(
    store,
    {
      kind: '/things',
      namespace: 'one',
      matches: object => more.label === undefined || object.metadata.labels?.['l'] === more.label,
      from,
      ...(more.initialEvents && { initialEvents: true }),
    },
    {
      event: ({ type, object }) => told.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`),
      bookmark: ({ version, initialEventsEnd }) => told.push(`BOOKMARK ${version}${initialEventsEnd ? ' end' : ''}`),
    },
  )
  return { told, stop }
}

test('from a version on: what happened since, then what happens, of this kind and namespace', () => {
  const store = createStore()
  store.put('/things', labelled('a', 'x'))
  store.put('/things', labelled('b', 'x'))
  const { told, stop } = watching(store, 1)
  store.put('/things', labelled('elsewhere', 'x', 'two'))
  store.put('/others', labelled('other', 'x'))
  store.put('/things', labelled('a', 'y'))
  store.remove('/things', labelled('b', 'x'))
  stop()
  store.put('/things', labelled('late', 'x'))
  assert.deepEqual(told, ['ADDED b 2', 'MODIFIED a 5', 'DELETED b 6'])
})

test('without a version: what is there comes first', () => {
  const store = createStore()
  store.put('/things', labelled('b', 'x'))
  store.put('/things', labelled('a', 'x'))
  const { told, stop } = watching(store, undefined)
  store.put('/things', labelled('a', 'y'))
  stop()
  assert.deepEqual(told, ['ADDED a 2', 'ADDED b 1', 'MODIFIED a 3'])
})

test('a bookmark says when all that was there is told', () => {
  const store = createStore()
  store.put('/things', labelled('a', 'x'))
  const { told, stop } = watching(store, undefined, { initialEvents: true })
  stop()
  assert.deepEqual(told, ['ADDED a 1', 'BOOKMARK 1 end'])
})

test('who selects sees objects come and go as they match', () => {
  const store = createStore()
  store.put('/things', labelled('a', 'x'))
  const { told, stop } = watching(store, 1, { label: 'x' })
  store.put('/things', labelled('a', 'y'))
  store.put('/things', labelled('a', 'z'))
  store.put('/things', labelled('a', 'x'))
  store.remove('/things', labelled('a', 'x'))
  stop()
  assert.deepEqual(told, ['DELETED a 2', 'ADDED a 4', 'DELETED a 5'])
})

test('who comes too late is told to list again', () => {
  const store = createStore()
  for (let count = 0; count < 5; count++) store.put('/things', labelled('a', 'x'))
  store.compact()
  const status = rejectionOf(() => watching(store, 2))
  assert.deepEqual([status.code, status.reason, status.message], [410, 'Expired', 'too old resource version: 2 (5)'])
})
