/** Periodic tasks: each at its own interval, and a failure of one stops all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runPeriodically } from './periodic.ts'

const never = new AbortController().signal

test('each task runs at its interval, the shorter one at least as often', async () => {
  const runs = { quick: 0, slow: 0 }
  const end = new AbortController()
  const tasks = [
    { everySeconds: 0.001, run: async () => void runs.quick++ },
    {
      everySeconds: 0.05,
      run: async () => {
        if (++runs.slow === 3) end.abort()
      },
    },
  ]
  await runPeriodically(7_200, tasks, end.signal)
  assert.equal(runs.slow, 3)
  assert.ok(runs.quick >= 3, `${runs.quick}`)
})

test('a late task that skips what it missed waits for its next time', async () => {
  const times: number[] = []
  const end = new AbortController()
  const run = async (elapsed: number) => {
    times.push(elapsed)
    if (times.length === 1) await sleep(300)
    if (times.length === 3) end.abort()
  }
  await runPeriodically(7_200, [{ everySeconds: 0.05, skipsMissed: true, run }], end.signal)
  const [, second = 0, third = 0] = times
  // After the late first run, which ends at 0.35 or later. Timers may be a millisecond early.
  assert.ok(second >= 0.349 && third >= 0.399, `${times}`)
})

test('the tasks stop at the end of the time, and a task with a longer interval never runs', async () => {
  let runs = 0
  await runPeriodically(0.05, [{ everySeconds: 3_600, run: async () => void runs++ }], never)
  assert.equal(runs, 0)
})

test('a failure of one task stops all and is thrown', async () => {
  const broken = { everySeconds: 0.01, run: () => Promise.reject(new Error('the operator has ended')) }
  const endless = { everySeconds: 3_600, run: async () => {} }
  await assert.rejects(runPeriodically(7_200, [endless, broken], never), /the operator has ended/)
})

test('a signal stops all tasks, and a failure caused by it is ignored', async () => {
  const end = new AbortController()
  const broken = {
    everySeconds: 0.01,
    run: () => {
      end.abort()
      return Promise.reject(new Error('killed too'))
    },
  }
  await runPeriodically(7_200, [{ everySeconds: 3_600, run: async () => {} }, broken], end.signal)
  assert.ok(end.signal.aborted)
})
