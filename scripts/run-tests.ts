/**
 * Runs test files, each in its own process, and counts the results. Files that need root run in new network, mount and PID
 * namespaces.
 *
 * Every file has a time limit: a file that leaves a handle open is killed and reported, and the others go on.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { runIsolated } from '../test/rigs/isolation.ts'
import { runWithin } from '../test/rigs/process.ts'
import { isIsolated, root } from './test-files.ts'
import { failedAtLeast, none, plus, type Report, reporters, summary, type Totals, totalsOf } from './totals.ts'

/** Patterns of names. A negated pattern in `only` selects all: Node also matches the names of the parents, and so the root. */
export type Selection = { only: string } | { except: string }

export interface Run {
  /** Limit of one test that sets no limit, in milliseconds. */
  testTimeout: number
  fileTimeout: number
  /** Files at a time. */
  workers: number
  /** By file. Without it, all tests of a file run. */
  selections?: Readonly<Record<string, Selection>>
  print: (line: string) => void
}

export const quick: Run = {
  testTimeout: 120_000,
  fileTimeout: 8 * 60_000,
  // Most files wait for timers and processes most of the time.
  workers: 2 * availableParallelism() + 1,
  print: console.log,
}
/** Servers mostly wait for each other: two files at a time take half as long as one after the other. */
export const againstServers: Run = { ...quick, testTimeout: 10 * 60_000, fileTimeout: 25 * 60_000, workers: 2 }
/** An emulated guest uses one core. */
export const onGuests: Run = { ...againstServers, testTimeout: 90 * 60_000, fileTimeout: 3 * 60 * 60_000 }

/** Hundreds of short processes load the same modules. The cache halves their start time. */
const compileCache = join(root, 'node_modules/.cache/compiled')

export async function runTests(files: readonly string[], run: Run): Promise<Totals> {
  const queue = [...files]
  const failed: string[] = []
  let totals = none
  const worker = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const report = await runFile(file, run)
      totals = plus(totals, report)
      if (report.failed > 0) failed.push([file, ...(report.failures ?? [])].join('\n').replaceAll('\n', '\n    '))
    }
  }
  await Promise.all(Array.from({ length: run.workers }, worker))
  if (failed.length > 0) run.print(`\nfailed:\n${failed.map(text => `  ${text}`).join('\n')}`)
  return totals
}

function selectedBy(selection: Selection | undefined): string[] {
  if (selection === undefined) return []
  return ['only' in selection ? `--test-name-pattern=${selection.only}` : `--test-skip-pattern=${selection.except}`]
}

async function runFile(file: string, { testTimeout, fileTimeout, print, selections }: Run): Promise<Report> {
  const work = await mkdtemp(join(tmpdir(), 'multinic-test-'))
  const started = Date.now()
  const chunks: Buffer[] = []
  const output = (chunk: Buffer) => chunks.push(chunk)
  try {
    const report = join(work, 'totals.json')
    const flags = [`--test-timeout=${testTimeout}`, `--import=${join(root, 'scripts/open-handles.ts')}`]
    const command = [process.execPath, ...flags, ...selectedBy(selections?.[file]), ...reporters(report), file]
    // TMPDIR: a killed file leaves its temporary files below our directory. NODE_TEST_CONTEXT: the test of this file runs
    // inside a test, and a process that inherits the context would report to it.
    const env = {
      ...{ TMPDIR: work, NODE_TEST_CONTEXT: '', NODE_COMPILE_CACHE: compileCache },
      OPEN_HANDLES_AFTER_MS: String(fileTimeout * 0.8),
    }
    const options = { within: fileTimeout, env, output }
    const { code, timedOut } = await (isIsolated(file) ? runIsolated : runWithin)(command, options)
    const counted = await totalsOf(report)
    const isEmpty = counted.passed + counted.failed + counted.skipped === 0
    const totals = failedAtLeast(counted, code !== 0 || isEmpty)
    if (isEmpty) print(`${file}: no test ran`)
    print(`\n${withoutSummary(Buffer.concat(chunks).toString()).trim()}`)
    if (timedOut) print(`${file}: killed after ${fileTimeout / 60_000} minutes: a handle stayed open`)
    print(`${file}: ${summary(totals)} in ${((Date.now() - started) / 1000).toFixed(1)} s`)
    return totals
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Without the totals that node:test prints: we print one line for each file. */
function withoutSummary(text: string): string {
  return text.replace(/^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) .*\n/gm, '')
}
