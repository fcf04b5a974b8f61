import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../sandbox/exec.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let walk: TestSandbox

before(async () => {
  walk = await startTestSandbox({ nodes: 2 })
})
after(() => walk.stop())

const [node, other] = ['worker-1', 'worker-2']

/** Names, addresses and MTUs, as the ports have them. */
async function asAttached(vm: string): Promise<void> {
  const { nics } = await walk.nodeState(vm)
  const { interfaces } = (await walk.nodeConfig(vm)).spec
  assert.deepEqual(
    nics
      .filter(nic => nic.name.startsWith('multinic'))
      .map(({ name, macAddress: mac, mtu, addresses }) => [name, mac, mtu, addresses[0]]),
    interfaces
      .toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0))
      .map(nic => [nic.name, nic.macAddress, nic.mtu, `${nic.address}/24`]),
  )
}

for (const part of ['operator', 'viola', 'controller'] as const)
  for (const afterMs of [0, 250])
    test(`${part} is killed ${afterMs} ms after a port was attached and another detached: the end is the same`, async () => {
      const name = await walk.nodeConfig(node).then(
        config => config.spec.interfaces[0]?.name,
        () => undefined,
      )
      walk.attach({ vm: node, subnet: 'storage' })
      walk.attach({ vm: other, subnet: 'backup' })
      if (name) await walk.detach({ vm: node, name })
      await sleep(afterMs)
      walk.killComponent(part)
      await walk.waitUntilReady(40_000)
      assert.ok(walk.sandbox.components.restartsOf(part) > 0)
      await asAttached(node)
      await asAttached(other)
    })

test('an agent that is killed in its work is run again, and ends the work', async () => {
  const { namespace } = walk.sandbox.nodes.get(node) ?? assert.fail()
  walk.attach({ vm: node, subnet: 'storage', count: 2 })
  const pid = await eventually(
    async () => {
      const pids = (await run('ip', ['netns', 'pids', namespace])).split('\n').filter(Boolean)
      const found = pids.find(each => commandOf(each).startsWith('/multinic/node'))
      return Number(found ?? assert.fail('no agent yet'))
    },
    { within: 10_000, every: 2 },
  )
  process.kill(pid, 'SIGKILL')
  await walk.waitUntilReady(40_000)
  await asAttached(node)
})

test('a failing Neutron and a lost role take nothing away, and what is new waits for it', async () => {
  const before = await walk.nodeState(node)
  const { faults } = walk.sandbox.cloudState
  faults.failing = ['neutron']
  await eventually(
    async () => {
      const ready = (await walk.openstackConfig()).status?.conditions?.find(each => each.type === 'Ready')
      assert.equal(ready?.status, 'False')
    },
    { within: 20_000 },
  )
  faults.failing = []
  faults.roleLost = true
  const calls = walk.sandbox.cloud.calls().neutron
  await eventually(() => assert.ok(walk.sandbox.cloud.calls().neutron > calls + 8), { within: 30_000 })
  faults.roleLost = false
  assert.deepEqual(await walk.nodeState(node), before)
  walk.attach({ vm: node, subnet: 'storage' })
  await walk.waitUntilReady(40_000)
})

test('revoked and expiring tokens are renewed', async () => {
  walk.sandbox.cloud.revokeTokens()
  walk.sandbox.cloudState.faults.tokenSeconds = 2
  walk.attach({ vm: other, subnet: 'storage' })
  await walk.waitUntilReady(40_000)
})

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
