/**
 * The two-minute form of `make soak`, with the same faults and checks. Two limits differ: the heap of a process still grows in its
 * first minutes, and other test files may slow down the rig.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soak } from './soak.ts'
import { tableOf } from './verdict.ts'

test('under constant change and faults, replicas keep flat memory, the queue drains and nothing is lost', {
  timeout: 20 * 60_000,
}, async t => {
  const { verdicts, samples } = await soak({
    ...{ seed: 1_115, nodes: 100, seconds: 120, actionsPerSecond: 2, sampleSeconds: 2, pollSeconds: 1 },
    ...{ faultSeconds: 5, lastFaultSeconds: 65, recoverySeconds: 20 },
    memory: { share: 0.4, slack: 40 },
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
