/** Works side by side: each at its pace, and none that outlives the others' trouble. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inRounds } from './rounds.ts'

const never = new AbortController().signal

test('each work has its turns, the quicker one no fewer', async () => {
  const turns = { quick: 0, slow: 0 }
  const end = new AbortController()
  const rounds = [
    { everySeconds: 0.001, work: async () => void turns.quick++ },
    {
      everySeconds: 0.05,
      work: async () => {
        if (++turns.slow === 3) end.abort()
      },
    },
  ]
  await inRounds(7_200, rounds, end.signal)
  assert.equal(turns.slow, 3)
  assert.ok(turns.quick >= 3, `${turns.quick}`)
})

test('the time ends them, and a work whose turn never came has none', async () => {
  let turns = 0
  await inRounds(0.05, [{ everySeconds: 3_600, work: async () => void turns++ }], never)
  assert.equal(turns, 0)
})

test('trouble of one ends all and is told', async () => {
  const broken = { everySeconds: 0.01, work: () => Promise.reject(new Error('the operator has ended')) }
  const endless = { everySeconds: 3_600, work: async () => {} }
  await assert.rejects(inRounds(7_200, [endless, broken], never), /the operator has ended/)
})

test('a signal ends all at once, and what breaks by it is no trouble', async () => {
  const end = new AbortController()
  const broken = {
    everySeconds: 0.01,
    work: () => {
      end.abort()
      return Promise.reject(new Error('killed too'))
    },
  }
  await inRounds(7_200, [{ everySeconds: 3_600, work: async () => {} }, broken], end.signal)
  assert.ok(end.signal.aborted)
})
