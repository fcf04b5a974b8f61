import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createLanes } from './concurrency-limit.ts'

test('never more than so many at a time, in the order in which they came, and a failure frees its lane', async () => {
  const lanes = createLanes(3)
  const started: number[] = []
  let [busy, most] = [0, 0]
  const work = (index: number) => async () => {
    started.push(index)
    most = Math.max(most, ++busy)
    await turn()
    busy--
    if (index % 4 === 0) throw new Error(`${index} fails`)
    return index
  }
  const ended = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => lanes(work(index))))
  assert.equal(most, 3)
  assert.deepEqual(
    started,
    Array.from({ length: 20 }, (_, index) => index),
  )
  assert.equal(ended.filter(({ status }) => status === 'rejected').length, 5)
  assert.equal(await lanes(async () => 'free again'), 'free again')
})
