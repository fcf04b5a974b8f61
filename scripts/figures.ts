/**
 * `make figures`: stores the figures of `make bench ALL=1` (dist/bench.jsonl) for the documents. Refuses an incomplete set, and
 * figures of several commits. `make generate` then writes the page and the plots.
 */
import { writeFileSync } from 'node:fs'
import { arch, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { benchFile, problemsOf, readBenchLines } from './bench-lines.ts'
import { type Figures, figuresFile, type Measured } from './figures-page.ts'
import { root } from './test-files.ts'

const lines = readBenchLines(join(root, benchFile))
const problems = problemsOf(lines)
if (problems.length > 0) {
  console.error(`${benchFile}: not the complete figures of one commit\n${problems.map(text => `  ${text}`).join('\n')}`)
  console.error('make bench ALL=1 measures all; make bench ONLY=name measures one and keeps the others')
  process.exit(1)
}

const benches: [string, Measured][] = [...Map.groupBy(lines, ({ bench }) => bench)].map(([bench, entries]) => {
  const { at = '', load = 0, commit = '' } = entries[0] ?? {}
  const figures = entries.map(({ bench: _, at: __, load: ___, commit: ____, ...figure }) => figure)
  return [bench, { on: at.slice(0, 10), commit, load, figures }]
})
const figures: Figures = {
  machine: {
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    architecture: arch(),
    kernel: release().split('-')[0] ?? '',
    node: process.version,
  },
  benches: Object.fromEntries(benches.sort(([a], [b]) => a.localeCompare(b))),
}
writeFileSync(join(root, figuresFile), `${JSON.stringify(figures, null, 1)}\n`)
console.log(`stored ${lines.length} figures in ${figuresFile}; run make generate to write the page and the plots`)
