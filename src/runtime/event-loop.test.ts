import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveWay, nextTurn } from './event-loop.ts'

/** Computes for some time, piece by piece. */
async function busy(pieces: number, ms: number): Promise<string> {
  for (let piece = 0; piece < pieces; piece++) {
    const until = performance.now() + ms
    while (performance.now() < until);
    await giveWay()
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
  assert.equal(await busy(20, 6), 'done')
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
  const failing = async () => {
    await nextTurn()
    throw new Error('invalid')
  }
  await assert.rejects(failing(), /invalid/)
  assert.equal(await busy(3, 11), 'done')
})
