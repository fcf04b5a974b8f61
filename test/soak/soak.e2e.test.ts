/** The short form of `make soak`: a hundred nodes for less than a minute, with wider limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soak } from './soak.ts'
import { tableOf } from './verdict.ts'

test('under constant change, memory stays flat, the queue drains and no warning repeats', {
  timeout: 10 * 60_000,
}, async t => {
  const { verdicts, samples } = await soak({
    ...{ seed: 1_115, nodes: 100, seconds: 45, actionsPerSecond: 2, sampleSeconds: 2, pollSeconds: 1 },
    ...{ faultSeconds: 4, lastFaultSeconds: 15, recoverySeconds: 10 },
    // A heap still grows in the first minute.
    memory: { share: 0.4, slack: 40 },
    // Other tests may slow down the rig.
    minUndisturbed: 0,
    print: line => t.diagnostic(line),
    signal: t.signal,
  })
  assert.ok(samples.length >= 10, `${samples.length} samples`)
  assert.deepEqual(
    verdicts.filter(({ met }) => !met).map(({ check }) => check),
    [],
    tableOf(verdicts),
  )
})
