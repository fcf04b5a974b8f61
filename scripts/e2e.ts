/**
 * `make e2e`: the tests on real parts (*.e2e.test.ts), each file in a world of its own, one after the other.
 *
 * ONLY=word runs the files with that word in their path. What is missing on the machine is installed or built first.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { environment } from '../src/env.ts'
import { sweepWorlds, worldRefused } from '../test/rigs/world.ts'
import { runTests } from './run-tests.ts'
import { root, testFiles } from './test-files.ts'
import { close, none, plus, sentence, type Totals } from './totals.ts'

process.chdir(root)
const files = testFiles(environment()['ONLY']).e2e

const refused = files.length > 0 ? ((await worldRefused()) ?? (await provision())) : undefined
if (refused) console.log(`nothing of this can run: ${refused}`)
await close(refused ? { ...none, failed: files.length } : await runAll())

async function runAll(): Promise<Totals> {
  await sweepWorlds()
  let totals = none
  for (const file of files) {
    console.log(`\n${file}`)
    const started = Date.now()
    const ran = await runTests([file], 'in a world')
    console.log(`${file}: ${sentence(ran)} in ${((Date.now() - started) / 1000).toFixed(1)} s`)
    totals = plus(totals, ran)
  }
  return totals
}

/** What is in the way, or undefined. */
async function provision(): Promise<string | undefined> {
  const child = spawn(join(root, 'scripts/provision.sh'), ['kubernetes'], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'close')
  return code === 0 ? undefined : 'the real parts are not on this machine (see above)'
}
