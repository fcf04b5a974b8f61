/**
 * The whole chain, with the commands of a person: the cloud attaches a port, the hypervisor plugs the device into a running
 * virtual machine, and the NIC becomes ready. A detach unplugs the device, and nothing of the NIC is left on the machine.
 */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { InterfaceView, SandboxStatus } from '../../sandbox/control/status.ts'
import { run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'

const program = join(import.meta.dirname, '../../bin/multinic')
const minutes = 60_000

test('a port that the cloud attaches to a virtual machine becomes a NIC, survives a reboot, and goes with the port', async t => {
  const dir = join(mkdtempSync(join(tmpdir(), 'chain-')), 'sandbox')
  const sandbox = async (...args: string[]) => (await run(program, ['sandbox', ...args], { env })).stdout
  const env = { MULTINIC_SANDBOX_DIR: dir }
  t.after(() => sandbox('down'))
  const started = performance.now()
  t.diagnostic(await sandbox('up', '--vm'))
  t.diagnostic(`up with two NICs after ${Math.round((performance.now() - started) / 1000)} s`)

  const ready = async () => {
    const status = JSON.parse(await sandbox('status', '-o', 'json')) as SandboxStatus
    assert.ok(status.ready, JSON.stringify(status.nodes))
    return status.nodes[0]?.interfaces ?? []
  }
  const onNode = (...command: string[]) => sandbox('shell', 'worker-1', ...command)
  const carriesTraffic = async ({ name, address, mtu, macAddress }: InterfaceView, gateway: string) => {
    const shown = await onNode('ip', 'address', 'show', 'dev', name)
    for (const fact of [address, `mtu ${mtu}`, macAddress]) assert.ok(fact && shown.includes(fact), `${fact}: ${shown}`)
    assert.match(await onNode('readlink', '-f', `/sys/class/net/${name}`), /\/pci0000:00\/.*\/virtio/)
    await onNode('ping', '-c', '1', '-W', '10', '-I', address ?? '', gateway)
  }
  const gatewayOf = (nic: InterfaceView) => (nic.subnet === 'storage' ? '10.10.0.1' : '10.20.0.1')

  const first = await ready()
  assert.deepEqual(
    first.map(({ name, status }) => `${name} ${status}`),
    ['multinic0 Configured', 'multinic1 Configured'],
  )
  for (const nic of first) await carriesTraffic(nic, gatewayOf(nic))

  await sandbox('detach', '--vm', 'worker-1', '--name', 'multinic0')
  const [gone = assert.fail(), kept = assert.fail()] = first
  const afterDetach = await eventually(
    async () => {
      const nics = await ready()
      assert.deepEqual(
        nics.map(({ name }) => name),
        ['multinic1'],
      )
      return nics
    },
    { within: 10 * minutes, every: 500 },
  )
  assert.equal(afterDetach[0]?.portId, kept.portId)
  assert.ok(!(await onNode('ip', 'link')).includes(gone.macAddress), 'the device is still there')
  // The agent keeps a copy of what it removed.
  const files = "find /etc -name '*multinic0*' -not -path '*/backup/*'"
  const left = `${files}; ip route show table all | grep multinic0; ip rule | grep 'lookup 100'; true`
  assert.equal(await onNode('sh', '-c', left), '')

  await sandbox('reboot', 'worker-1')
  await carriesTraffic(kept, gatewayOf(kept))

  const attached = performance.now()
  await sandbox('attach', '--vm', 'worker-1', '--subnet', 'storage')
  const again = await eventually(
    async () => {
      const nics = await ready()
      assert.deepEqual(
        nics.map(({ name }) => name),
        ['multinic1', 'multinic2'],
      )
      return nics
    },
    { within: 10 * minutes, every: 500 },
  )
  t.diagnostic(`attach to ready: ${Math.round((performance.now() - attached) / 1000)} s`)
  for (const nic of again) await carriesTraffic(nic, gatewayOf(nic))
})
