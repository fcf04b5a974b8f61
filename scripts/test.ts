/**
 * `make test`: every test that needs no real servers. Tests that need root run in their own namespaces, or are listed as left out.
 *
 * ONLY=word runs the files with that word in their path.
 */
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable, removeStaleIsolations } from '../test/rigs/isolation.ts'
import { asRoot, quick, runTests } from './run-tests.ts'
import { root, testFiles } from './test-files.ts'
import { finish, none, plus, type Totals } from './totals.ts'

process.chdir(root)
const files = testFiles(environment()['ONLY'])

let totals: Totals = await runTests(files.plain, quick)
if (files.root.length > 0) {
  const problem = await isolationUnavailable()
  await removeStaleIsolations()
  const more = problem ? { ...none, skipped: files.root.length } : await runTests(files.root, asRoot)
  totals = plus(totals, more)
  if (problem) printLeftOut(problem, files.root)
}
await finish(totals)

function printLeftOut(problem: string, names: readonly string[]): void {
  const bar = '!'.repeat(100)
  console.log(
    [bar, `LEFT OUT: ${names.length} files, because ${problem}`, ...names.map(name => `  ${name}`), bar].join('\n'),
  )
}
