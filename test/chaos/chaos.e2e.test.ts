/** The short form of `make chaos`: two seeds, with a real broker that is killed and restarted too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortHistory, shortSeeds, shortVms } from './coverage.ts'
import { told } from './history.ts'
import { play } from './runner.ts'
import { startStage } from './setup.ts'

for (const seed of shortSeeds)
  test(`chaos of seed ${seed}: guarantees hold at every moment, and the world comes to rest`, {
    timeout: 10 * 60_000,
  }, async () => {
    const history = shortHistory(seed)
    const stage = await startStage({ nodes: shortVms.length, rabbitmq: 'local' })
    try {
      assert.deepEqual(await play(stage, history), [], `seed ${seed} after\n${history.map(told).join('\n')}`)
    } finally {
      await stage.end()
    }
  })
