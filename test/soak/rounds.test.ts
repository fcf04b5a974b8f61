/** Works side by side: each at its pace, and none that outlives the others' trouble. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inRounds } from './rounds.ts'

const never = new AbortController().signal

test('each work has its turns, and the time ends them', async () => {
  const turns = { quick: 0, slow: 0 }
  const count = (name: keyof typeof turns) => async () => void turns[name]++
  const rounds = [
    { everySeconds: 0.01, work: count('quick') },
    { everySeconds: 0.1, work: count('slow') },
  ]
  await inRounds(0.35, rounds, never)
  assert.ok(turns.slow >= 1 && turns.slow <= 3, `${turns.slow}`)
  assert.ok(turns.quick > turns.slow, `${turns.quick}`)
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
