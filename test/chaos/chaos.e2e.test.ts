/** The short form of `make chaos`: two seeds, with a real broker that is killed and restarted too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWalk } from '../walks/world.ts'
import { historyOf, told, wordsFor } from './history.ts'
import { play } from './play.ts'
import { replicated } from './replica.ts'

const vms = ['worker-1', 'worker-2', 'worker-3']

for (const seed of [2_026, 1_115])
  test(`chaos of seed ${seed}: guarantees hold at every moment, and the world comes to rest`, {
    timeout: 10 * 60_000,
  }, async () => {
    const history = historyOf(seed, {
      steps: 25,
      vms,
      subnets: ['storage', 'backup'],
      words: wordsFor({ broker: true }),
    })
    const walk = await startWalk({ nodes: vms.length, rabbitmq: 'local', env: replicated })
    try {
      assert.deepEqual(await play(walk, history), [], `make chaos SEED=${seed} after\n${history.map(told).join('\n')}`)
    } finally {
      await walk.end()
    }
  })
