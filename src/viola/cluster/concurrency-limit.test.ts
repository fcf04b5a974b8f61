import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createLimit, shareNextRun } from './concurrency-limit.ts'

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

test('calls during a run share the next one, which starts after it, also after a failure', async () => {
  const ends: PromiseWithResolvers<string>[] = []
  const run = shareNextRun(() => {
    const end = Promise.withResolvers<string>()
    ends.push(end)
    return end.promise
  })
  const first = [run(), run()]
  await turn()
  const during = [run(), run(), run()]
  await turn()
  assert.equal(ends.length, 1, 'one at a time')
  ends[0]?.reject(new Error('first'))
  for (const one of first) await assert.rejects(one, /first/)
  await turn()
  const later = run()
  assert.equal(ends.length, 2)
  ends[1]?.resolve('second')
  assert.deepEqual(await Promise.all(during), ['second', 'second', 'second'])
  await turn()
  ends[2]?.resolve('third')
  assert.equal(await later, 'third', 'a call during the second run does not get what that run had read before')
})
