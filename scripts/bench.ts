/**
 * Runs the benchmarks (test/bench/<component>.ts) and prints a table. ONLY=component runs one. Writes one JSON object per
 * figure to dist/bench.jsonl, or to BENCH_JSON. Prints failed benchmarks at the end; the others still run.
 *
 * Machines are noisy: each figure has a reference from the same run, and the ratio is what counts.
 */
import { appendFileSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { environment } from '../src/runtime/env.ts'
import type { Bench, Figure } from '../test/bench/figure.ts'
import { type BenchLine, benchFile } from './figures-page.ts'
import { shown } from './plot.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { ONLY, BENCH_JSON = join(root, benchFile) } = environment()

/** Files that are no benchmarks. */
const shared = ['component', 'figure']
const benches = globSync('test/bench/*.ts', { cwd: root })
  .map(path => basename(path, '.ts'))
  .filter(name => !name.endsWith('.test') && !shared.includes(name))
  .sort()
/** Run only with ONLY: they take many minutes. */
const long = ['fleet', 'growth', 'inventory-postgres']
const selected = benches.filter(name => (ONLY ? name === ONLY : !long.includes(name)))
if (selected.length === 0) {
  console.error(`no benchmark "${ONLY}"; available: ${benches.join(' ')}`)
  process.exit(1)
}
mkdirSync(dirname(BENCH_JSON), { recursive: true })
writeFileSync(BENCH_JSON, '')

const figures: Figure[] = []
const failures: unknown[] = []
for (const name of selected) {
  const { bench } = (await import(pathToFileURL(join(root, 'test/bench', `${name}.ts`)).href)) as { bench: Bench }
  const [load = 0] = loadavg()
  await bench(figure => {
    figures.push(figure)
    const line: BenchLine = { bench: name, at: new Date().toISOString(), load, ...figure }
    appendFileSync(BENCH_JSON, `${JSON.stringify(line)}\n`)
  }).catch(error => failures.push(error))
}

const rows = figures.map(({ name, value, unit, reference, against, ratio, goal }) => [
  name,
  `${shown(value)} ${unit}`,
  `${against}: ${shown(reference)} ${unit}`,
  `${shown(ratio)}×`,
  goal ? `${value <= goal.atMost ? 'meets' : 'MISSES'} ≤ ${shown(goal.atMost)}` : '',
])
const widths = [0, 1, 2, 3, 4].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
const goals = figures.filter(({ goal }) => goal)
const met = goals.filter(({ value, goal }) => goal && value <= goal.atMost)
console.log(`${met.length} of ${goals.length} goals met`)
for (const failure of failures) console.error(failure)
process.exitCode = failures.length > 0 ? 1 : 0
