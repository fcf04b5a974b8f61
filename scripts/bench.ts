/**
 * Runs the benches (test/bench/<room>.ts) and prints a table. ONLY=room runs one; BENCH_JSON=file gets one JSON object a line.
 *
 * Machines are noisy: a time stands beside a reference that was measured in the same run, and the ratio is what counts.
 */
import { appendFileSync, globSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { environment } from '../src/env.ts'
import type { Bench, Figure } from '../test/bench/figure.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { ONLY, BENCH_JSON } = environment()

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
if (BENCH_JSON) writeFileSync(BENCH_JSON, '')

const figures: Figure[] = []
for (const name of wanted) {
  const { bench } = (await import(pathToFileURL(join(root, 'test/bench', `${name}.ts`)).href)) as { bench: Bench }
  await bench(figure => {
    figures.push(figure)
    if (BENCH_JSON) appendFileSync(BENCH_JSON, `${JSON.stringify(figure)}\n`)
  })
}

const rows = figures.map(({ name, value, unit, reference, against, ratio, goal }) => [
  name,
  `${round(value)} ${unit}`,
  `${against}: ${round(reference)} ${unit}`,
  `${round(ratio)}×`,
  goal ? `${value <= goal.atMost ? 'meets' : 'MISSES'} ≤ ${round(goal.atMost)}` : '',
])
const widths = [0, 1, 2, 3, 4].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
