/**
 * `make figures`: stores the figures of the last `make bench` (dist/bench.jsonl) for the documents. A benchmark that ran
 * replaces its previous run; the others stay. `make generate` then writes the page and the plots.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { type BenchLine, benchFile, type Figures, figuresFile, type Measured, readFigures } from './figures-page.ts'

const root = join(import.meta.dirname, '..')
const lines = readFileSync(join(root, benchFile), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line) as BenchLine)
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()

const benches: Record<string, Measured> = { ...readFigures()?.benches }
for (const [bench, entries] of Map.groupBy(lines, ({ bench: name }) => name)) {
  const { at = '', load = 0 } = entries[0] ?? {}
  benches[bench] = {
    ...{ on: at.slice(0, 10), commit, load },
    figures: entries.map(({ bench: _, at: __, load: ___, ...figure }) => figure),
  }
}
const figures: Figures = {
  machine: {
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    architecture: arch(),
    kernel: release().split('-')[0] ?? '',
    node: process.version,
  },
  benches: Object.fromEntries(Object.entries(benches).sort(([a], [b]) => a.localeCompare(b))),
}
writeFileSync(join(root, figuresFile), `${JSON.stringify(figures, null, 1)}\n`)
console.log(`stored ${lines.length} figures in ${figuresFile}; run make generate to write the page and the plots`)
