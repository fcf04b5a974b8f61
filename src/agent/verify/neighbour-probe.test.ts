/** Probing from a busy machine. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { type Host, kernelHost } from '../host/host.ts'
import { type ProbeOptions, probeNeighbours, targetKey } from './neighbour-probe.ts'

const target = { ifindex: 2, address: '10.0.0.1' }
const links = [{ name: 'ens3', ifindex: 2 }] as unknown as ProbeOptions['links']
const options: ProbeOptions = { timeout: 800, links, neighbours: [] }

/** Every query takes this long; the neighbour replies to a probe at once, or never. */
function slowHost(ms: number, replies: boolean): Pick<Host, 'ip' | 'monotonic' | 'sleep'> {
  let now = 0
  let probed = false
  return {
    monotonic: () => now,
    async sleep(passed) {
      now += passed
    },
    async ip(_args, commands = []) {
      now += ms
      const entry = { dst: target.address, dev: 'ens3', lladdr: 'fa:16:3e:00:00:fe', state: ['REACHABLE'] }
      const stdout = JSON.stringify(probed && replies ? [entry] : [])
      if (commands.some(command => command.startsWith('neigh replace'))) probed = true
      return { code: 0, stdout, stderr: '' }
    },
  }
}

for (const ms of [1, 250, 2_000])
  test(`a reply is found when each command takes ${ms} ms`, async () => {
    const replies = await probeNeighbours(slowHost(ms, true) as Host, [target], options)
    assert.equal(replies.get(targetKey(target)), 'fa:16:3e:00:00:fe')
  })

test('probing without a reply ends', async () => {
  const host = slowHost(250, false)
  assert.equal((await probeNeighbours(host as Host, [target], options)).size, 0)
  assert.ok(host.monotonic() < 5_000)
})

test('a connection established while the event loop was blocked counts, although the timeout has passed', async t => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const reached = kernelHost({}).canConnect('127.0.0.1', (server.address() as AddressInfo).port, 20)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  assert.equal(await reached, true)
})
