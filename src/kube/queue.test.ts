import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { manualClock } from '../../test/support/manual-clock.ts'
import { createQueue, type Priority, type Queue, type QueueOptions, type Work } from './queue.ts'

function setUp(options: QueueOptions = {}) {
  const clock = manualClock()
  const queue = createQueue({ clock, random: () => 1, backoff: { firstMs: 100, maxMs: 1_000 }, ...options })
  return { clock, queue }
}

async function take(queue: Queue): Promise<Work> {
  return (await queue.next()) ?? assert.fail('the queue is closed')
}

/** Takes and ends all waiting work. Returns the keys in order. */
async function drain(queue: Queue): Promise<string[]> {
  const keys: string[] = []
  while (queue.depth()) {
    const work = await take(queue)
    keys.push(work.key)
    work.done()
  }
  return keys
}

test('a key waits once, however often it is added', async () => {
  const { queue } = setUp()
  for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
  assert.deepEqual(await drain(queue), ['a', 'b'])
})

test('a key added while it runs runs once more afterwards', async () => {
  const { queue } = setUp()
  queue.add('a')
  const first = await take(queue)
  queue.add('a')
  queue.add('a')
  assert.equal(queue.depth(), 0)
  first.done()
  assert.deepEqual(await drain(queue), ['a'])
})

test('a second done() has no effect', async () => {
  const { queue } = setUp()
  queue.add('a')
  const first = await take(queue)
  first.done()
  queue.add('a')
  const second = await take(queue)
  first.done()
  queue.add('a')
  assert.equal(queue.depth(), 0)
  second.done()
  assert.equal(queue.depth(), 1)
})

test('a worker waits for the next key', async () => {
  const { queue } = setUp()
  const next = queue.next()
  queue.add('a')
  assert.equal((await next)?.key, 'a')
})

test('of two scheduled times the earlier one counts', async () => {
  const { queue, clock } = setUp()
  queue.addAfter('a', 500)
  queue.addAfter('a', 200)
  queue.addAfter('a', 900)
  clock.advance(199)
  assert.equal(queue.depth(), 0)
  clock.advance(1)
  assert.deepEqual(await drain(queue), ['a'])
  clock.advance(10_000)
  assert.equal(queue.depth(), 0)
})

test('a delay of zero adds the key at once', () => {
  const { queue } = setUp()
  queue.addAfter('a', 0)
  assert.equal(queue.depth(), 1)
})

test('retry delays grow up to the maximum, and forget resets them', () => {
  const { queue } = setUp()
  assert.deepEqual(
    Array.from({ length: 6 }, () => queue.retry('a')),
    [100, 200, 400, 800, 1_000, 1_000],
  )
  queue.forget('a')
  assert.equal(queue.retry('a'), 100)
  assert.equal(queue.retry('b', { retryAfterMs: 700 }), 700)
})

test('retry delays have jitter', () => {
  const { queue } = setUp({ random: () => 0 })
  assert.equal(queue.retry('a'), 50)
})

test('new work goes before rechecks, and a recheck can become new work', async () => {
  const { queue } = setUp()
  queue.add('check-1', { priority: 'recheck' })
  queue.add('check-2', { priority: 'recheck' })
  queue.add('new-1')
  queue.add('check-2')
  queue.add('new-1', { priority: 'recheck' })
  assert.deepEqual(await drain(queue), ['new-1', 'check-2', 'check-1'])
})

test('a running key keeps the highest priority of its additions', async () => {
  const { queue } = setUp()
  queue.add('a')
  const work = await take(queue)
  queue.add('a')
  queue.add('a', { priority: 'recheck' })
  queue.add('b', { priority: 'recheck' })
  work.done()
  assert.deepEqual(await drain(queue), ['a', 'b'])
})

test('a shutdown releases waiting workers and rejects new keys', async () => {
  const { queue, clock } = setUp()
  queue.addAfter('later', 10)
  const waiting = queue.next()
  queue.shutdown()
  queue.add('a')
  clock.advance(100)
  assert.equal(await waiting, undefined)
  assert.equal(await queue.next(), undefined)
  assert.equal(queue.depth(), 0)
})

const key = fc.constantFrom('a', 'b', 'c', 'd')
const priority = fc.constantFrom<Priority>('new', 'recheck')
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, priority }),
  fc.record({ do: fc.constant('addAfter' as const), key, priority, ms: fc.nat(300) }),
  fc.record({ do: fc.constant('retry' as const), key }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat(400) }),
  fc.record({ do: fc.constant('finish' as const), which: fc.nat(10) }),
)

test('under any sequence a key has one worker at a time and no addition is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), async (steps, workers) => {
      const { queue, clock } = setUp()
      const running = new Map<string, () => void>()
      let turn = 0
      const wokenAt = new Map<string, number>()
      const startedAt = new Map<string, number>()

      async function work(): Promise<void> {
        for (let item = await queue.next(); item; item = await queue.next()) {
          assert.ok(!running.has(item.key), `two workers have ${item.key}`)
          startedAt.set(item.key, ++turn)
          const { key, done } = item
          await new Promise<void>(resolve => running.set(key, resolve))
          running.delete(key)
          done()
        }
      }
      const all = Promise.all(Array.from({ length: workers }, work))
      const settle = () => new Promise(resolve => setImmediate(resolve))

      for (const one of steps) {
        if (one.do === 'advance') clock.advance(one.ms)
        else if (one.do === 'finish') [...running.values()][one.which % Math.max(1, running.size)]?.()
        else {
          wokenAt.set(one.key, ++turn)
          if (one.do === 'add') queue.add(one.key, one)
          else if (one.do === 'addAfter') queue.addAfter(one.key, one.ms, one)
          else queue.retry(one.key)
        }
        await settle()
      }

      for (let rest = 0; rest < 100 && (running.size || queue.depth() || clock.nextAt() !== undefined); rest++) {
        clock.advance(1_000)
        for (const finish of [...running.values()]) finish()
        await settle()
      }
      assert.deepEqual([running.size, queue.depth(), queue.active()], [0, 0, 0])
      for (const [key, woken] of wokenAt) {
        assert.ok((startedAt.get(key) ?? 0) > woken, `${key} was woken and did not run afterwards`)
      }
      queue.shutdown()
      await all
    }),
    { numRuns: 150 },
  )
})

test('neither new work nor rechecks starve', async () => {
  const turnMs = 100
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5 }), async (checks, backlog) => {
      const { queue, clock } = setUp({ ageMs: 1_000 })
      for (let at = 0; at < checks; at++) queue.add(`check-${at}`, { priority: 'recheck' })
      let created = 0
      const servedAt = new Map<string, number>()
      const turns = 10 + 4 * checks + 4
      for (let turn = 0; turn < turns; turn++) {
        while (queue.depth() < checks - servedAt.size + backlog) queue.add(`new-${created++}`)
        const { key, priority, done } = await take(queue)
        if (priority === 'recheck') servedAt.set(key, turn)
        done()
        clock.advance(turnMs)
      }
      for (let at = 0; at < checks; at++) {
        const served = servedAt.get(`check-${at}`) ?? Number.POSITIVE_INFINITY
        assert.ok(served <= 10 + 4 * (at + 1), `re-check ${at} had its turn at ${served} only`)
        assert.ok(served >= 10 + 4 * at, `re-check ${at} had its turn at ${served} already, before new work`)
      }
    }),
    { numRuns: 50 },
  )
})

test('the oldest waiting key counts, of both priorities, and only while it waits', async () => {
  const { clock, queue } = setUp()
  assert.equal(queue.oldest(), 0)
  queue.add('a', { priority: 'recheck' })
  clock.advance(1_000)
  queue.add('b')
  clock.advance(500)
  assert.equal(queue.oldest(), 1_500)
  assert.equal((await take(queue)).key, 'b')
  assert.equal(queue.oldest(), 1_500)
  await take(queue)
  assert.equal(queue.oldest(), 0)
})
