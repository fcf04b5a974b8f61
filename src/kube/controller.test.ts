import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import { TerminalError } from '../runtime/errors.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { type ControllerOptions, type Reconcile, runController } from './controller.ts'
import { KubeError } from './errors.ts'
import { createQueue } from './queue.ts'

function start(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const stop = new AbortController()
  const queue = createQueue({ backoff: { firstMs: 5, maxMs: 20 } })
  const controller = runController({
    ...{ name: 'test', workers: 2, log: silent, signal: stop.signal, queue, reconcile },
    ...options,
  })
  return {
    ...controller,
    async stop() {
      stop.abort()
      await controller.stopped
    },
  }
}

test('a key that wakes is reconciled', async () => {
  const seen: string[] = []
  const controller = start(async key => void seen.push(key))
  controller.wake('a')
  controller.wakeAfter('b', 10)
  await eventually(() => assert.deepEqual(seen, ['a', 'b']))
  await controller.stop()
})

test('a key is reconciled again after its requeue time', async () => {
  let runs = 0
  const controller = start(async () => (++runs < 3 ? { after: 5 } : undefined))
  controller.wake('a')
  await eventually(() => assert.equal(runs, 3))
  await controller.stop()
})

test('a failure is retried, a TerminalError is not', async () => {
  const tries: Record<string, number> = {}
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  const controller = start(
    async key => {
      const count = (tries[key] ?? 0) + 1
      tries[key] = count
      if (key === 'bad') throw new TerminalError('WrongMachine', 'this is another machine')
      if (count < 4) throw new Error('not yet')
    },
    { log },
  )
  controller.wake('bad')
  controller.wake('slow')
  await eventually(() => assert.deepEqual(tries, { bad: 1, slow: 4 }))
  await controller.stop()
  assert.deepEqual(tries, { bad: 1, slow: 4 })
  const permanent = lines.find(line => line.includes('not retrying')) ?? ''
  assert.match(permanent, /"controller":"test","key":"bad","reason":"WrongMachine","error":"this is another machine"/)
  assert.equal(lines.filter(line => line.includes('reconcile failed, retrying')).length, 3)
})

test('a retry waits for the Retry-After of the server', async () => {
  const at: number[] = []
  const queue = createQueue({ backoff: { firstMs: 1, maxMs: 60_000 } })
  const controller = start(
    async () => {
      at.push(performance.now())
      if (at.length === 1) throw new KubeError(429, 'TooManyRequests', 'slow down', { retryAfter: 0.2 })
    },
    { queue },
  )
  controller.wake('a')
  await eventually(() => assert.equal(at.length, 2))
  assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 195)
  await controller.stop()
})

test('a slow key neither delays other keys nor runs twice at the same time', async () => {
  const open = Promise.withResolvers<void>()
  let slow = 0
  const quick: string[] = []
  const controller = start(async key => {
    if (key !== 'slow') return void quick.push(key)
    assert.equal(++slow, 1)
    await open.promise
    slow--
  })
  controller.wake('slow')
  await eventually(() => assert.equal(controller.active(), 1))
  controller.wake('slow')
  for (const key of ['a', 'b', 'c']) controller.wake(key)
  await eventually(() => assert.deepEqual(quick, ['a', 'b', 'c']))
  open.resolve()
  await controller.stop()
})

test('a stop aborts running reconciles and waits for them', async () => {
  const begun: string[] = []
  let ended = false
  const controller = start(async (key, { signal }) => {
    begun.push(key)
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    await sleep(30)
    ended = true
    throw new Error('interrupted')
  })
  controller.wake('a')
  await eventually(() => assert.deepEqual(begun, ['a']))
  controller.wake('b')
  await controller.stop()
  assert.ok(ended)
  assert.deepEqual(begun, ['a'])
  controller.wake('c')
  assert.equal(controller.depth(), 0)
})

test('a stop waits no longer than drainMs', async () => {
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  let begun = false
  const endless = () => {
    begun = true
    return new Promise<void>(() => {})
  }
  const controller = start(endless, { drainMs: 30, log })
  controller.wake('a')
  await eventually(() => assert.ok(begun))
  await controller.stop()
  assert.match(lines.join(), /did not stop in time/)
})

test('a controller with an aborted signal does nothing', async () => {
  const controller = runController({
    name: 'test',
    workers: 1,
    log: silent,
    signal: AbortSignal.abort(),
    reconcile: async () => assert.fail('it ran'),
  })
  controller.wake('a')
  await controller.stopped
})
