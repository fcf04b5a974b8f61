/** A short run of the state-machine test on a simulated node: NICs come, fail, are repaired and go, and all surfaces say so. */
import { test } from 'node:test'
import { startTestSandbox } from '../system/sandbox.fixture.ts'
import { truthOf } from './truth.ts'
import { attach, detach, editKernel, emptyPlan, repair } from './truth-steps.ts'

const vm = 'worker-1'
const steps = [
  attach({ vm, subnet: 'storage' }),
  attach({ vm, subnet: 'backup' }),
  editKernel({ vm, at: 1, edit: 'mtu' }),
  repair({ vm }),
  detach({ vm, at: 0 }),
]

test('every surface says the same while NICs come, fail, are repaired and go', { timeout: 240_000 }, async () => {
  const system = await startTestSandbox({ nodes: 1, simulated: true, env: { NODE_CONDITION: 'true' } })
  try {
    const [plan, truth] = [emptyPlan(), truthOf(system, 20_000)]
    for (const step of steps) await step.run(plan, truth)
  } finally {
    await system.stop()
  }
})
