/**
 * The state-machine test: after random steps, no surface contradicts the kernel for longer than one observation.
 *
 * TRUTH_RUNS=n runs more sequences, TRUTH_STEPS=n longer ones, SEED=n repeats one. A failure prints its seed and its steps.
 */
import { test } from 'node:test'
import fc from 'fast-check'
import { environment } from '../../src/runtime/env.ts'
import { startTestSandbox } from '../system/sandbox.fixture.ts'
import { truthOf } from './truth.ts'
import { emptyPlan, sequencesFor } from './truth-steps.ts'

const { SEED = '20261116', TRUTH_RUNS = '2', TRUTH_STEPS = '12' } = environment()
const vms = ['worker-1', 'worker-2']
const minutesPerRun = 8

test('no surface contradicts the kernel for longer than one observation', {
  timeout: Number(TRUTH_RUNS) * minutesPerRun * 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(sequencesFor(vms, Number(TRUTH_STEPS)), async steps => {
      const system = await startTestSandbox({ nodes: vms.length, env: { NODE_CONDITION: 'true' } })
      try {
        await fc.asyncModelRun(() => ({ model: emptyPlan(), real: truthOf(system) }), steps)
      } finally {
        await system.stop()
      }
    }),
    // A failing sequence takes minutes: it is printed, not shortened.
    { numRuns: Number(TRUTH_RUNS), seed: Number(SEED), endOnFailure: true },
  )
})
