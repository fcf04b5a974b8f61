import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createLimit } from './concurrency-limit.ts'

test('work runs in order of arrival and never above the limit, and a failure frees its place', async () => {
  const limit = createLimit(3)
  const started: number[] = []
  let [running, peak] = [0, 0]
  const work = (index: number) => async () => {
    started.push(index)
    peak = Math.max(peak, ++running)
    await turn()
    running--
    if (index % 4 === 0) throw new Error(`${index} fails`)
    return index
  }
  const ended = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => limit(work(index))))
  assert.equal(peak, 3)
  assert.deepEqual(
    started,
    Array.from({ length: 20 }, (_, index) => index),
  )
  assert.equal(ended.filter(({ status }) => status === 'rejected').length, 5)
  assert.equal(await limit(async () => 'free again'), 'free again')
})
