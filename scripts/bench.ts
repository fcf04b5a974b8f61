/**
 * Runs the benchmarks (test/bench/<component>.ts) and prints a table. ONLY=component runs one, ALL=1 also those that take many
 * minutes. Stores one JSON object per figure in dist/bench.jsonl, or in BENCH_JSON, in place of the last run of the benchmark.
 * Prints failed benchmarks at the end; the others still run.
 *
 * Machines are noisy: each figure has a reference from the same run, and the ratio is what counts.
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { environment } from '../src/runtime/env.ts'
import { type Bench, type Figure, meetsGoal } from '../test/bench/figure.ts'
import { type BenchLine, benches, benchFile, currentCommit, longBenches, storeBench } from './bench-lines.ts'
import { goalText } from './figures-page.ts'
import { shown } from './plot.ts'
import { root } from './test-files.ts'

const { ONLY, ALL, BENCH_JSON = join(root, benchFile) } = environment()
const selected = benches.filter(name => (ONLY ? name === ONLY : ALL || !longBenches.includes(name)))
if (selected.length === 0) {
  console.error(`no benchmark "${ONLY}"; available: ${benches.join(' ')}`)
  process.exit(1)
}

const commit = currentCommit()
const figures: Figure[] = []
const failures: unknown[] = []
for (const name of selected) {
  storeBench(BENCH_JSON, name, [])
  const { bench } = (await import(pathToFileURL(join(root, 'test/bench', `${name}.ts`)).href)) as { bench: Bench }
  const [load = 0] = loadavg()
  const lines: BenchLine[] = []
  try {
    await bench(figure => {
      figures.push(figure)
      lines.push({ bench: name, at: new Date().toISOString(), load, commit, ...figure })
    })
    storeBench(BENCH_JSON, name, lines)
  } catch (error) {
    failures.push(error)
  }
}

const rows = figures.map(figure => [
  figure.name,
  `${shown(figure.value)} ${figure.unit}`,
  `${figure.against}: ${shown(figure.reference)} ${figure.unit}`,
  `${shown(figure.ratio)}×`,
  goalText(figure, { met: 'meets', missed: 'MISSES', none: 'no goal' }),
])
const widths = [0, 1, 2, 3, 4].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
const outcomes = figures.map(figure => meetsGoal(figure)).filter(outcome => outcome !== undefined)
console.log(`${outcomes.filter(Boolean).length} of ${outcomes.length} goals met`)
for (const failure of failures) console.error(failure)
// A benchmark that failed may have left servers open, which would keep this process alive.
process.exit(failures.length > 0 ? 1 : 0)
