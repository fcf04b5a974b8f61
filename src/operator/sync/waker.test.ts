import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runController } from '../../kube/controller.ts'
import { silent } from '../../telemetry/log.ts'
import { createWaker } from './waker.ts'

test('a wake for the status does not hide a wake for a sync, and neither survives a change of the leader', () => {
  const stop = new AbortController()
  const lead = () =>
    runController({ name: 'test', workers: 0, reconcile: async () => {}, log: silent, signal: stop.signal })
  const waker = createWaker()
  waker.wake('ns/a')
  assert.deepEqual(waker.takeWakes('ns/a'), { forSync: false, forStatus: false })
  waker.attach(lead())
  waker.wake('ns/a')
  waker.wakeForStatus('ns/a')
  waker.wakeForStatus('ns/b')
  assert.deepEqual(waker.takeWakes('ns/a'), { forSync: true, forStatus: true })
  assert.deepEqual(waker.takeWakes('ns/a'), { forSync: false, forStatus: false })
  waker.attach(lead())
  assert.deepEqual(waker.takeWakes('ns/b'), { forSync: false, forStatus: false })
  stop.abort()
})
