/**
 * `make test`: every test that needs no real servers. Those that need root run in a world of their own, or are named as left out.
 *
 * ONLY=word runs the files with that word in their path.
 */
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable, removeStaleIsolations } from '../test/rigs/isolation.ts'
import { asRoot, quick, runTests } from './run-tests.ts'
import { root, testFiles } from './test-files.ts'
import { close, none, plus, type Totals } from './totals.ts'

process.chdir(root)
const files = testFiles(environment()['ONLY'])

let totals: Totals = await runTests(files.plain, quick)
if (files.root.length > 0) {
  const refused = await isolationUnavailable()
  await removeStaleIsolations()
  const more = refused ? { ...none, skipped: files.root.length } : await runTests(files.root, asRoot)
  totals = plus(totals, more)
  if (refused) sayLeftOut(refused, files.root)
}
await close(totals)

function sayLeftOut(why: string, names: readonly string[]): void {
  const bar = '!'.repeat(100)
  console.log(
    [bar, `LEFT OUT: ${names.length} files, because ${why}`, ...names.map(name => `  ${name}`), bar].join('\n'),
  )
}
