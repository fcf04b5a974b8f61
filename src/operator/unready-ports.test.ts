/** How long a port is not ready: the input of the alert MultiNicPortNotReady. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUnreadyPorts } from './unready-ports.ts'

test('the longest waiting port counts until it is ready or no longer selected', () => {
  let seconds = 0
  const ports = createUnreadyPorts(() => new Date(seconds * 1_000))
  ports.update('a/a', ['one'])
  seconds = 100
  ports.update('a/a', ['one', 'two'])
  ports.update('b/b', [])
  seconds = 250
  assert.deepEqual([ports.oldestSeconds('a/a'), ports.oldestSeconds('b/b')], [250, 0])
  ports.update('a/a', ['two'])
  assert.equal(ports.oldestSeconds('a/a'), 150)
  ports.update('a/a', ['one', 'two'])
  assert.equal(ports.oldestSeconds('a/a'), 150)
  ports.forget('a/a')
  assert.deepEqual([...ports.configs()], ['b/b'])
})
