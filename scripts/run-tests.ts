/**
 * Runs test files, each in a process of its own, and counts: here, or in a new world (network, mount, pid namespaces).
 *
 * Every file is bounded: one that leaves something open is ended and named, and holds nobody else.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { runIsolated } from '../test/rigs/isolation.ts'
import { bounded } from '../test/rigs/process.ts'
import { root } from './test-files.ts'
import { failedAtLeast, none, plus, reporters, sentence, type Totals, totalsOf } from './totals.ts'

export interface Run {
  /** Tests that need root, and those on real parts, get a world each. */
  isolated: boolean
  /** Of one test, unless it names its own. */
  testTimeout: number
  fileTimeout: number
  /** Files at a time. */
  workers: number
  say: (line: string) => void
}

export const quick: Run = {
  isolated: false,
  testTimeout: 120_000,
  fileTimeout: 5 * 60_000,
  workers: availableParallelism(),
  say: console.log,
}
export const asRoot: Run = { ...quick, isolated: true }
/** Real parts mostly wait for each other: two worlds at a time need half as long as one after the other. */
export const onRealParts: Run = { ...asRoot, testTimeout: 10 * 60_000, fileTimeout: 25 * 60_000, workers: 2 }

/** Hundreds of short processes read the same modules: each starts in half the time when one before it has compiled them. */
const compiled = join(root, 'node_modules/.cache/compiled')

export async function runTests(files: readonly string[], run: Run): Promise<Totals> {
  const waiting = [...files]
  const bad: string[] = []
  let totals = none
  const worker = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const ran = await runFile(file, run)
      totals = plus(totals, ran)
      if (ran.failed > 0) bad.push(file)
    }
  }
  await Promise.all(Array.from({ length: run.workers }, worker))
  if (bad.length > 0) run.say(`\nfailed:\n${bad.map(file => `  ${file}`).join('\n')}`)
  return totals
}

async function runFile(file: string, { isolated, testTimeout, fileTimeout, say }: Run): Promise<Totals> {
  const work = await mkdtemp(join(tmpdir(), 'multinic-test-'))
  const started = Date.now()
  const heard: Buffer[] = []
  const output = (chunk: Buffer) => heard.push(chunk)
  try {
    const report = join(work, 'totals.json')
    const command = [process.execPath, `--test-timeout=${testTimeout}`, ...reporters(report), file]
    // What a killed file leaves in its temporary directory goes with ours. A test of this file runs inside another test,
    // and what it starts must not take itself for a part of that.
    const env = { TMPDIR: work, NODE_TEST_CONTEXT: '', NODE_COMPILE_CACHE: compiled }
    const options = { within: fileTimeout, env, output }
    const { code, timedOut } = await (isolated ? runIsolated : bounded)(command, options)
    const totals = failedAtLeast(await totalsOf(report), code !== 0)
    say(`\n${withoutSummary(Buffer.concat(heard).toString()).trim()}`)
    if (timedOut) say(`${file} was ended after ${fileTimeout / 60_000} minutes: something stayed open`)
    say(`${file}: ${sentence(totals)} in ${((Date.now() - started) / 1000).toFixed(1)} s`)
    return totals
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Each file's own sums: ours is one line. */
function withoutSummary(text: string): string {
  return text.replace(/^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) .*\n/gm, '')
}
