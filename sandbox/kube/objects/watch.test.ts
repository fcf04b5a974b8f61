import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStore } from './store.ts'
import { watch } from './watch.ts'

test('with initialEvents a bookmark follows the existing objects', () => {
  const store = createStore()
  store.put('/things', { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' } })
  const events: string[] = []
  const stop = watch(
    store,
    { kind: '/things', namespace: undefined, matches: () => true, from: undefined, initialEvents: true },
    {
      event: ({ type, object }) => events.push(`${type} ${object.metadata.name}`),
      bookmark: ({ version, initialEventsEnd }) => events.push(`BOOKMARK ${version} ${initialEventsEnd}`),
    },
  )
  stop()
  assert.deepEqual(events, ['ADDED a', 'BOOKMARK 1 true'])
})
