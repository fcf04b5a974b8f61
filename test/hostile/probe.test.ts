/** The probe of /healthz sees a process that is held up, whether it computes or waits. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { startProbe } from './probe.ts'

const blocks = {
  computes: 'for (const { user } = process.cpuUsage(); process.cpuUsage().user - user < 2_500_000; );',
  'waits for a disk': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)',
}
for (const [what, statement] of Object.entries(blocks))
  test(`a process that ${what} is slow`, async t => {
    const program = `
      const server = require('node:http').createServer((request, response) => {
        if (request.url === '/block') { ${statement} }
        response.end()
      })
      server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill())
    const url = await new Promise<string>(resolve => createInterface({ input: child.stdout }).once('line', resolve))
    let slowest = 0
    let samples = 0
    const probe = startProbe([{ name: 'x', url, pid: child.pid ?? 0 }], ({ ms }) => {
      slowest = Math.max(slowest, ms)
      samples++
    })
    t.after(() => probe.stop())
    await eventually(() => assert.ok(samples > 3))
    await fetch(`${url}/block`)
    await eventually(() => assert.ok(slowest > 1_000, `${slowest} ms`))
  })
