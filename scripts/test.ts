/**
 * `make test`: every test that needs no real servers. Tests that need root run in their own namespaces, or are listed as left out.
 *
 * ONLY=word runs the files with that word in their path.
 */
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable, removeStaleIsolations } from '../test/rigs/isolation.ts'
import { quick, runTests } from './run-tests.ts'
import { root, slowFirst, testFiles } from './test-files.ts'
import { finish, none, plus } from './totals.ts'

/** Files that run for half a minute and more. */
const slowFiles = [
  'agent/test/killed.',
  'system/crash.',
  'faults/faults.',
  'attacks/process.',
  'system/commands.',
  'packets/',
  'fuzz/',
]

process.chdir(root)
const files = testFiles(environment()['ONLY'])
const problem = files.root.length > 0 ? await isolationUnavailable() : undefined
await removeStaleIsolations()

const runnable = slowFirst([...files.plain, ...(problem ? [] : files.root)], slowFiles)
const leftOut = problem ? files.root : []
const totals = await runTests(runnable, quick)
if (problem) printLeftOut(problem, leftOut)
await finish(plus(totals, { ...none, skipped: leftOut.length }))

function printLeftOut(problem: string, names: readonly string[]): void {
  const bar = '!'.repeat(100)
  console.log(
    [bar, `LEFT OUT: ${names.length} files, because ${problem}`, ...names.map(name => `  ${name}`), bar].join('\n'),
  )
}
