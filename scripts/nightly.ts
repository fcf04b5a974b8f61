/**
 * `make nightly`: the tests that take hours, and that `.ci/run` leaves out. ONLY=part runs one part.
 *
 * Stores the result of each part at its end; `make generate` then writes the page. A part that fails does not stop the others.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { runWithin } from '../test/rigs/process.ts'
import { currentCommit } from './bench-lines.ts'
import { storeNightlyRun } from './nightly-page.ts'
import { type NightlyCommand, nightlyParts } from './nightly-parts.ts'
import { root } from './test-files.ts'
import { failedAtLeast, finish, none, plus, summary, type Totals } from './totals.ts'

process.chdir(root)
const { ONLY } = environment()
const on = new Date().toISOString().slice(0, 10)
/** Room for a hundred seeds a day. */
const firstSeed = 100 * Number(on.slice(2).replaceAll('-', ''))
const all = nightlyParts(firstSeed)
const selected = all.filter(({ name }) => !ONLY || name === ONLY)
if (selected.length === 0) {
  console.error(`no part "${ONLY}"; available: ${all.map(({ name }) => name).join(' ')}`)
  process.exit(1)
}

const commit = currentCommit()
const dir = mkdtempSync(join(tmpdir(), 'multinic-nightly-'))
let totals = none
try {
  for (const { name, commands } of selected) {
    const started = Date.now()
    let counted = none
    for (const command of commands) counted = plus(counted, await run(command))
    const minutes = Math.round((Date.now() - started) / 60_000)
    storeNightlyRun({ part: name, ...counted, on, commit, minutes })
    console.log(`${name}: ${summary(counted)} in ${minutes} minutes`)
    totals = plus(totals, counted)
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}
await finish(totals)

/** The totals that the command wrote. A command that failed before it counted has failed once. */
async function run({ args, env = {}, minutes }: NightlyCommand): Promise<Totals> {
  const file = join(dir, 'totals')
  writeFileSync(file, '')
  const { code, timedOut } = await runWithin([process.execPath, ...args], {
    within: minutes * 60_000,
    // ONLY selected the part; it must not select test files in it.
    env: { ONLY: '', ...env, TEST_TOTALS: file },
  })
  if (timedOut) console.log(`${args.join(' ')}: killed after ${minutes} minutes`)
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const counted = lines.map(line => JSON.parse(line) as Totals).reduce(plus, none)
  return failedAtLeast(counted, code !== 0 || lines.length === 0)
}
