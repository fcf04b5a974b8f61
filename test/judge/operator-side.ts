/**
 * A process that plays one seed to the operator of one source tree: `operator-side.ts ROOT SEED OPERATIONS FILE`. Needs clock.ts
 * preloaded. What left during each operation goes to the file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Step } from './compare.ts'
import { startJudgedOperator } from './judged-operator.ts'
import { createPlayer } from './operations.ts'

const [root = '', seed = '1', count = '1', file = ''] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'multinic-judge-'))
const steps: Step[] = []
try {
  await using judged = await startJudgedOperator(root, dir)
  const player = createPlayer(judged, Number(seed))
  await player.begin()
  steps.push({ operation: 'start', sent: judged.recorder.take() })
  for (let at = 0; at < Number(count); at++) {
    const operation = await player.play()
    steps.push({ operation, sent: judged.recorder.take() })
  }
  writeFileSync(file, JSON.stringify(steps))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
process.exit(0)
