/** Asking on the wire from a machine that is busy with something else. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { type Host, kernelHost } from './host.ts'
import { askWire, targetKey } from './neighbour-probe.ts'

const target = { ifindex: 2, address: '10.0.0.1' }
const links = [{ name: 'ens3', ifindex: 2 }] as unknown as Parameters<typeof askWire>[2]

/** Whose every `ip` takes so long; the neighbour answers a question at once, or never. */
function slowHost(ms: number, answers: boolean): Pick<Host, 'ip' | 'now' | 'sleep'> {
  let now = 0
  let asked = false
  return {
    now: () => now,
    async sleep(passed) {
      now += passed
    },
    async ip(_args, lines) {
      now += ms
      if (lines) asked = true
      const entry = { dst: target.address, dev: 'ens3', lladdr: 'fa:16:3e:00:00:fe', state: ['REACHABLE'] }
      return { stdout: JSON.stringify(asked && answers ? [entry] : []), stderr: '', code: 0 }
    },
  } as Pick<Host, 'ip' | 'now' | 'sleep'>
}

for (const ms of [1, 250, 2_000])
  test(`an answer is heard where each command takes ${ms} ms`, async () => {
    const heard = await askWire(slowHost(ms, true) as Host, [target], links, 800)
    assert.equal(heard.get(targetKey(target)), 'fa:16:3e:00:00:fe')
  })

test('silence is silence, and the asking ends', async () => {
  const host = slowHost(250, false)
  assert.equal((await askWire(host as Host, [target], links, 800)).size, 0)
  assert.ok(host.now() < 5_000)
})

test('a connection that was made while nobody looked counts, though the time is over', async t => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const reached = kernelHost({}).reach('127.0.0.1', (server.address() as AddressInfo).port, 20)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  assert.equal(await reached, true)
})
