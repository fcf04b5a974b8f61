/**
 * Runs the benches (test/bench/<room>.ts) and prints a table. ONLY=room runs one. One JSON object a figure goes to
 * dist/bench.jsonl, or to BENCH_JSON. A bench that fails is told at the end; the others are measured all the same.
 *
 * Machines are noisy: a time stands beside a reference that was measured in the same run, and the ratio is what counts.
 */
import { appendFileSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { environment } from '../src/runtime/env.ts'
import type { Bench, Figure } from '../test/bench/figure.ts'
import { benchFile, type Told } from './figures-page.ts'
import { shown } from './plot.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { ONLY, BENCH_JSON = join(root, benchFile) } = environment()

/** What the benches share, and none of them. */
const shared = ['figure', 'part']
const benches = globSync('test/bench/*.ts', { cwd: root })
  .map(path => basename(path, '.ts'))
  .filter(name => !shared.includes(name))
  .sort()
const wanted = benches.filter(name => !ONLY || name === ONLY)
if (wanted.length === 0) {
  console.error(`no bench is called "${ONLY}"; there are: ${benches.join(' ')}`)
  process.exit(1)
}
mkdirSync(dirname(BENCH_JSON), { recursive: true })
writeFileSync(BENCH_JSON, '')

const figures: Figure[] = []
const failures: unknown[] = []
for (const name of wanted) {
  const { bench } = (await import(pathToFileURL(join(root, 'test/bench', `${name}.ts`)).href)) as { bench: Bench }
  const [load = 0] = loadavg()
  await bench(figure => {
    figures.push(figure)
    const told: Told = { bench: name, at: new Date().toISOString(), load, ...figure }
    appendFileSync(BENCH_JSON, `${JSON.stringify(told)}\n`)
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
