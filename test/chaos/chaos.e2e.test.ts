/** The short form of `make chaos`: two seeds, with a real broker that is also killed and restarted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortHistory, shortSeeds, shortVms } from './coverage.ts'
import { describeStep } from './history.ts'
import { runHistory } from './runner.ts'
import { startChaosSetup } from './setup.ts'

for (const seed of shortSeeds)
  test(`chaos with seed ${seed}: all guarantees hold throughout, and the system reaches the requested state`, {
    timeout: 10 * 60_000,
  }, async () => {
    const history = shortHistory(seed)
    const setup = await startChaosSetup({ nodes: shortVms.length, rabbitmq: 'local' })
    try {
      const violations = await runHistory(setup, history)
      const steps = history.map(describeStep)
      assert.deepEqual(violations, [], [...violations, `seed ${seed} after`, ...steps].join('\n'))
    } finally {
      await setup.stop()
    }
  })
