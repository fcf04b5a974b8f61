/** Clocks that can be set, and that nothing of ours counts time by them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { environment } from '../../src/runtime/env.ts'
import { clocksIn } from './clocks.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-clocks-'))
})
after(() => rm(dir, { recursive: true }))

test('a process sees the time of day that its clock is set to, in every way of asking, and time passes as before', async () => {
  const clocks = clocksIn(dir)
  clocks.set('ahead', 3_600_000, 600_000)
  const program = `
    const started = performance.now()
    const said = [Date.now(), new Date().getTime(), Date.parse(Date())]
    const kept = [new Date(5).getTime(), new Date(2026, 1).getMonth(), Date.UTC(1970, 0), new Date() instanceof Date]
    console.log(JSON.stringify({ said, kept, passed: performance.now() - started }))`
  const run = async (name: string) => {
    const env = { ...environment(), ...clocks.env(name) }
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { env })
    return JSON.parse(stdout) as { said: number[]; kept: unknown[]; passed: number }
  }
  const [before, ahead, right, since] = [Date.now(), await run('ahead'), await run('never set'), Date.now()]
  clocks.putRight()
  const putRight = await run('ahead')
  assert.ok((putRight.said[0] ?? 0) < Date.now() + 1_000)
  for (const at of ahead.said)
    assert.ok(at >= before + 3_600_000 - 1_000 && at <= since + 3_600_000, `${at} at ${before}`)
  for (const at of right.said) assert.ok(at >= before - 1_000 && at <= since, `${at} at ${before}`)
  assert.deepEqual(ahead.kept, [5, 1, 0, true])
  assert.ok(ahead.passed >= 0 && ahead.passed < 3_600_000)
})

/** Where the time of day itself is meant: what others wrote, and what people read. */
const timeOfDay: Record<string, string> = {
  'src/agent/host.ts': 'the moment of a report',
  'src/inventory/main.ts': 'days of history',
  'src/kube/exec.ts': 'when credentials end, as the program says',
  'src/http-client/client.ts': 'a date in Retry-After',
  'src/openstack/keystone.ts': 'a token that does not say when it was issued',
  'src/operator/events/cloud-events.ts': 'how late a notice is',
  'src/operator/main.ts': 'spans of a trace',
  'src/server/reload.ts': 'how old a file is',
  'src/viola/traces.ts': 'spans of a trace',
}

test('time that passes is counted by a clock that nobody sets', () => {
  const root = join(import.meta.dirname, '../..')
  const found = globSync('src/**/*.ts', { cwd: root })
    .filter(file => !/test\.ts$|^src\/sandbox\//.test(file))
    .filter(file => /\bDate\.now\b/.test(readFileSync(join(root, file), 'utf8')))
  assert.deepEqual(found.sort(), Object.keys(timeOfDay))
})
