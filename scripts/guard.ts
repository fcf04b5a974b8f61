/**
 * `make guard`: runs the quick benchmarks and fails when a ratio, size, count or memory figure is worse than its goal times 1.3
 * in the best of three runs. A benchmark whose figures were all good is not run again. ONLY=name runs one.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { runWithin } from '../test/rigs/process.ts'
import { readBenchLines } from './bench-lines.ts'
import { goalText } from './figures-page.ts'
import { guardedBenches, maxRuns, needsRun, slack, verdictsOf } from './guard-verdict.ts'
import { shown } from './plot.ts'
import { root } from './test-files.ts'
import { finish, none, plus, type Totals } from './totals.ts'

/** Of the output of a run that failed. */
const maxLines = 40

const { ONLY } = environment()
const selected = guardedBenches.filter(name => !ONLY || name === ONLY)
const dir = mkdtempSync(join(tmpdir(), 'multinic-guard-'))
let totals = none
try {
  for (const bench of selected) totals = plus(totals, await guard(bench))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
await finish(totals)

async function guard(bench: string): Promise<Totals> {
  const runs = []
  const started = performance.now()
  while (runs.length < maxRuns && needsRun(runs)) runs.push(await run(bench))
  const verdicts = verdictsOf(runs)
  const seconds = Math.round((performance.now() - started) / 1_000)
  console.log(`${bench}: ${runs.length} of at most ${maxRuns} runs, ${seconds} s`)
  if (verdicts.length === 0) console.log(`  no run of ${bench} gave figures to judge`)
  for (const { good, best } of verdicts) {
    const goal = goalText(best, { met: 'met', missed: `missed${good ? ` by less than ${slack}×` : ''}`, none: '' })
    console.log(
      `  ${good ? 'good' : 'BAD '} ${best.name}: ${shown(best.value)} ${best.unit}, ${shown(best.ratio)}×; ${goal}`,
    )
  }
  const passed = verdicts.filter(({ good }) => good).length
  return { ...none, passed, failed: Math.max(verdicts.length - passed, verdicts.length === 0 ? 1 : 0) }
}

/** A run in its own process. One that failed gives no figures; the end of its output says why. */
async function run(bench: string) {
  const file = join(dir, 'bench.jsonl')
  const chunks: Buffer[] = []
  const { code } = await runWithin([process.execPath, join(root, 'scripts/bench.ts')], {
    within: 15 * 60_000,
    env: { ONLY: bench, BENCH_JSON: file, BENCH_QUICK: '1' },
    output: chunk => chunks.push(chunk),
  })
  if (code !== 0) console.log(Buffer.concat(chunks).toString().trim().split('\n').slice(-maxLines).join('\n'))
  return readBenchLines(file).filter(line => line.bench === bench)
}
