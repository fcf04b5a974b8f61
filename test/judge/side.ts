/**
 * A process that plays one seed to the operator of one source tree: `side.ts ROOT SEED OPERATIONS FILE`. Needs clock.ts
 * preloaded. What left during each operation goes to the file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Step } from './compare.ts'
import { createPlayer } from './operations.ts'
import { startWorld } from './world.ts'

const [root = '', seed = '1', count = '1', file = ''] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'multinic-judge-'))
const steps: Step[] = []
try {
  await using world = await startWorld(root, dir)
  const player = createPlayer(world, Number(seed))
  await player.begin()
  steps.push({ operation: 'start', sent: world.recorder.take() })
  for (let at = 0; at < Number(count); at++) {
    const operation = await player.play()
    steps.push({ operation, sent: world.recorder.take() })
  }
  writeFileSync(file, JSON.stringify(steps))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
process.exit(0)
