/**
 * Runs test files with node:test and counts: in this process's own world, or in a new one (network, mount, pid namespaces).
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { inWorld, type WorldEnd } from '../test/rigs/world.ts'
import { failedAtLeast, reporters, type Totals, totalsOf } from './totals.ts'

const within = 20 * 60_000
/** Of one test, unless it names its own: a promise that nobody settles would otherwise hold the whole run. */
const testTimeout = 5 * 60_000

export async function runTests(files: readonly string[], where: 'here' | 'in a world'): Promise<Totals> {
  const work = await mkdtemp(join(tmpdir(), 'multinic-test-'))
  try {
    const report = join(work, 'totals.json')
    const many = where === 'here' ? [`--test-concurrency=${availableParallelism()}`] : []
    const command = [
      process.execPath,
      '--test',
      `--test-timeout=${testTimeout}`,
      ...many,
      ...reporters(report),
      ...files,
    ]
    const { code, timedOut } = where === 'here' ? await here(command) : await inWorld(command, { within })
    if (timedOut) console.log(`ended after ${within / 60_000} minutes: ${files.join(' ')}`)
    return failedAtLeast(await totalsOf(report), code !== 0)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function here([program = '', ...args]: readonly string[]): Promise<WorldEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], timeout: within })
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code: code ?? 1, timedOut: signal !== null }))
  })
}
