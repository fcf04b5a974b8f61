/**
 * `make flaky`: runs each new or changed test file many times while all processors are busy, and reports how often it failed.
 *
 * SINCE=commit is the base (default: the last tag, or 50 commits ago), ONLY=word selects files by path, TIMES=20. Tests against
 * real servers take minutes each and run only with E2E=1; those on virtual machines never do.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable } from '../test/rigs/isolation.ts'
import { runWithin } from '../test/rigs/process.ts'
import { changedTests } from './changed-tests.ts'
import { againstServers } from './run-tests.ts'
import { root, testFiles } from './test-files.ts'

const { SINCE, ONLY, E2E, TIMES = '20' } = environment()
const times = Number(TIMES)
if (!Number.isInteger(times) || times < 1) {
  console.error(`TIMES: not a number of runs: ${TIMES}`)
  process.exit(1)
}

const changed = new Set(changedTests(root, SINCE))
const { plain, root: asRoot, e2e, vm } = testFiles(ONLY)
const isChanged = (file: string) => changed.has(file)
const isolated = [...asRoot, ...(E2E ? e2e : [])].filter(isChanged)
const problem = isolated.length > 0 ? await isolationUnavailable() : undefined
const selected = [...plain.filter(isChanged), ...(problem ? [] : isolated)]
printLeftOut('E2E=1 runs those against real servers', [...(E2E ? [] : e2e), ...vm].filter(isChanged))
printLeftOut(problem ?? '', problem ? isolated : [])
console.log(`${selected.length} files, ${times} times each, ${availableParallelism()} busy processors`)

/** Threads end with this process, whatever ends it. */
const load = Array.from({ length: availableParallelism() }, () => new Worker('for (;;);', { eval: true }))
const flaky: string[] = []
for (const file of selected) {
  const failures: string[] = []
  for (let run = 0; run < times; run++) {
    const output = await failureOf(file)
    if (output !== undefined) failures.push(output)
  }
  console.log(`${file}: failed ${failures.length} of ${times} times`)
  if (failures.length === 0) continue
  flaky.push(file)
  console.log(`first failure:\n${failures[0]}`)
}
await Promise.all(load.map(worker => worker.terminate()))
console.log(`${selected.length - flaky.length} files never failed, ${flaky.length} did`)
for (const file of flaky) console.log(`  ${file}`)
process.exitCode = flaky.length > 0 ? 1 : 0

function printLeftOut(why: string, files: readonly string[]): void {
  if (files.length > 0) console.log(`not run (${why}):\n${files.map(file => `  ${file}`).join('\n')}`)
}

/** The output of a run that failed. */
async function failureOf(file: string): Promise<string | undefined> {
  const script = join(root, 'scripts', file.endsWith('.e2e.test.ts') ? 'e2e.ts' : 'test.ts')
  const chunks: Buffer[] = []
  const { code } = await runWithin([process.execPath, script], {
    // The script has its own limit for the file, and may have to build what the file needs first.
    within: againstServers.fileTimeout + 60 * 60_000,
    env: { ONLY: file, TEST_TOTALS: '' },
    output: chunk => chunks.push(chunk),
  })
  return code === 0 ? undefined : Buffer.concat(chunks).toString().trim()
}
