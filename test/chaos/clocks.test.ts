/** Clocks that a test can shift; no component measures durations with the time of day. */
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

test('every API of Date in a process shows its shifted clock, while durations stay correct', async () => {
  const clocks = clocksIn(dir)
  clocks.set('ahead', 3_600_000, 600_000)
  const program = `
    const started = performance.now()
    const times = [Date.now(), new Date().getTime(), Date.parse(Date())]
    const unaffected = [new Date(5).getTime(), new Date(2026, 1).getMonth(), Date.UTC(1970, 0), new Date() instanceof Date]
    console.log(JSON.stringify({ times, unaffected, passed: performance.now() - started }))`
  const run = async (name: string) => {
    const env = { ...environment(), ...clocks.env(name) }
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { env })
    return JSON.parse(stdout) as { times: number[]; unaffected: unknown[]; passed: number }
  }
  const [before, ahead, correct, after] = [Date.now(), await run('ahead'), await run('never set'), Date.now()]
  clocks.reset()
  const reset = await run('ahead')
  assert.ok((reset.times[0] ?? 0) < Date.now() + 1_000)
  for (const at of ahead.times)
    assert.ok(at >= before + 3_600_000 - 1_000 && at <= after + 3_600_000, `${at} at ${before}`)
  for (const at of correct.times) assert.ok(at >= before - 1_000 && at <= after, `${at} at ${before}`)
  assert.deepEqual(ahead.unaffected, [5, 1, 0, true])
  assert.ok(ahead.passed >= 0 && ahead.passed < 3_600_000)
})

/** Files that need the time of day: to read times that others wrote, or to show a time. */
const timeOfDay: Record<string, string> = {
  'src/agent/host/host.ts': 'time of a report',
  'src/inventory/main.ts': 'days of history',
  'src/kube/exec.ts': 'expiry of credentials',
  'src/http-client/client.ts': 'a date in Retry-After',
  'src/kube/informer.ts': 'restore of a server, compared with times in statuses',
  'src/openstack/service-clock.ts': 'the clock of a cloud, compared with ours',
  'src/openstack/keystone.ts': 'a token without issue time',
  'src/operator/events/cloud-events.ts': 'delay of a notification',
  'src/operator/main.ts': 'spans of a trace',
  'src/server/client-certificate.ts': 'expiry of a certificate',
  'src/server/reload.ts': 'age of a file',
  'src/viola/cluster/cluster.ts': 'time of an approval',
  'src/viola/request-trace.ts': 'spans of a trace',
}

test('durations use the monotonic clock', () => {
  const root = join(import.meta.dirname, '../..')
  const found = globSync('src/**/*.ts', { cwd: root })
    .filter(file => !/test\.ts$/.test(file))
    .filter(file => /\bDate\.now\b/.test(readFileSync(join(root, file), 'utf8')))
  assert.deepEqual(found.sort(), Object.keys(timeOfDay).sort())
})
