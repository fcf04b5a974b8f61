/** The short form of `make soak`: a hundred nodes for less than a minute, with bounds for so short a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soak } from './soak.ts'
import { tableOf } from './verdict.ts'

test('a fleet that changes all the time keeps its memory, empties its queue and repeats no error', {
  timeout: 10 * 60_000,
}, async t => {
  const { verdicts, samples } = await soak({
    ...{ seed: 1_115, nodes: 100, seconds: 45, actsPerSecond: 2, sampleSeconds: 2, pollSeconds: 1 },
    ...{ faultSeconds: 4, lastFaultSeconds: 15, echoSeconds: 10 },
    // A heap that is a minute old still grows.
    memory: { share: 0.4, slack: 40 },
    // Beside other tests the rig itself may be slow.
    leastOpen: 0,
    say: line => t.diagnostic(line),
    signal: t.signal,
  })
  assert.ok(samples.length >= 10, `${samples.length} samples`)
  assert.deepEqual(
    verdicts.filter(({ met }) => !met).map(({ check }) => check),
    [],
    tableOf(verdicts),
  )
})
