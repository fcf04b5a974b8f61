/** The probe of /healthz sees a process that is held up, whether it computes or waits. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { type Sample, sampleLimits, startProbe } from './probe.ts'

const blocks = {
  computes: [
    'for (const { user } = process.cpuUsage(); process.cpuUsage().user - user < 1_500_000; );',
    ({ computedMs }: Sample) => computedMs > sampleLimits.computedMs,
  ],
  'waits for a disk': [
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 12_000)',
    ({ heldUpMs }: Sample) => heldUpMs > sampleLimits.heldUpMs,
  ],
} as const
for (const [what, [statement, isTooSlow]] of Object.entries(blocks))
  test(`a process that ${what} is too slow`, async t => {
    const program = `
      const server = require('node:http').createServer((request, response) => {
        if (request.url === '/block') { ${statement} }
        response.end()
      })
      server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill())
    const url = await new Promise<string>(resolve => createInterface({ input: child.stdout }).once('line', resolve))
    const samples: Sample[] = []
    const probe = startProbe([{ name: 'x', url, pid: child.pid ?? 0 }], sample => samples.push(sample))
    t.after(() => probe.stop())
    await eventually(() => assert.ok(samples.length > 3))
    assert.ok(!samples.some(isTooSlow))
    await fetch(`${url}/block`)
    await eventually(() => assert.ok(samples.some(isTooSlow), JSON.stringify(samples.slice(-5))))
  })
