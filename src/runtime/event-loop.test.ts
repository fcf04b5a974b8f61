import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flatMapSteps, giveWay, inTurns, nextTurn, type Steps } from './event-loop.ts'

/** Computes for some time in each step. */
function* busy(steps: number, ms: number): Steps<string> {
  for (let step = 0; step < steps; step++) {
    const until = performance.now() + ms
    while (performance.now() < until);
    yield
  }
  return 'done'
}

/** Counts the iterations of the event loop. */
function countIterations() {
  let count = 0
  let isOn = true
  const next = () => {
    count++
    if (isOn) setImmediate(next)
  }
  setImmediate(next)
  return {
    count: () => count,
    stop() {
      isOn = false
    },
  }
}

test('long work lets other work run', async () => {
  const loop = countIterations()
  assert.equal(await inTurns(busy(20, 6)), 'done')
  loop.stop()
  assert.ok(loop.count() >= 8, `${loop.count()} iterations`)
})

test('work that is due at the same time gets one turn after the other', async () => {
  const loop = countIterations()
  const turns = await Promise.all(Array.from({ length: 10 }, () => nextTurn().then(loop.count)))
  loop.stop()
  assert.equal(new Set(turns).size, 10, turns.join(' '))
})

test('short work goes on at once', async () => {
  await nextTurn()
  assert.equal(giveWay(), undefined)
})

test('work that fails does not stop the turns of others', async () => {
  function* failing(): Steps<never> {
    yield
    throw new Error('invalid')
  }
  await assert.rejects(inTurns(failing()), /invalid/)
  assert.equal(await inTurns(busy(3, 11)), 'done')
})

test('a mapping pauses after each item', () => {
  const steps = flatMapSteps([1, 2, 3], n => (n === 2 ? [] : [n, n]))
  const pauses = [steps.next(), steps.next(), steps.next()]
  assert.ok(pauses.every(({ done }) => !done))
  assert.deepEqual(steps.next(), { done: true, value: [1, 1, 3, 3] })
})
