import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../sandbox/exec.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox

before(async () => {
  system = await startTestSandbox({ nodes: 2 })
})
after(() => system.stop())

const [node, other] = ['worker-1', 'worker-2']

/** The NICs have the names, addresses and MTUs of the node config. */
async function assertConfigured(vm: string): Promise<void> {
  const { nics } = await system.nodeState(vm)
  const { interfaces } = (await system.nodeConfig(vm)).spec
  assert.deepEqual(
    nics
      .filter(nic => nic.name.startsWith('multinic'))
      .map(({ name, macAddress, mtu, addresses }) => [name, macAddress, mtu, addresses[0]]),
    interfaces
      .toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0))
      .map(nic => [nic.name, nic.macAddress, nic.mtu, `${nic.address}/24`]),
  )
}

for (const component of ['operator', 'viola', 'controller'] as const)
  for (const afterMs of [0, 250])
    test(`${component} is killed ${afterMs} ms after an attach and a detach, and the result is the same`, async () => {
      const name = await system.nodeConfig(node).then(
        config => config.spec.interfaces[0]?.name,
        () => undefined,
      )
      system.attach({ vm: node, subnet: 'storage' })
      system.attach({ vm: other, subnet: 'backup' })
      if (name) await system.detach({ vm: node, name })
      await sleep(afterMs)
      system.killComponent(component)
      await system.waitUntilReady(40_000)
      assert.ok(system.sandbox.components.restartsOf(component) > 0)
      await assertConfigured(node)
      await assertConfigured(other)
    })

test('a killed agent runs again and completes the work', async () => {
  const { namespace } = system.sandbox.nodes.get(node) ?? assert.fail()
  system.attach({ vm: node, subnet: 'storage', count: 2 })
  const pid = await eventually(
    async () => {
      const pids = (await run('ip', ['netns', 'pids', namespace])).split('\n').filter(Boolean)
      const found = pids.find(candidate => commandOf(candidate).startsWith('/multinic/node'))
      return Number(found ?? assert.fail('no agent runs'))
    },
    { within: 10_000, every: 2 },
  )
  process.kill(pid, 'SIGKILL')
  await system.waitUntilReady(40_000)
  await assertConfigured(node)
})

test('a failing Neutron and a lost role remove nothing, and new ports wait', async () => {
  const before = await system.nodeState(node)
  const { faults } = system.sandbox.cloudState
  faults.failing = ['neutron']
  await eventually(
    async () => {
      const ready = (await system.openstackConfig()).status?.conditions?.find(({ type }) => type === 'Ready')
      assert.equal(ready?.status, 'False')
    },
    { within: 20_000 },
  )
  faults.failing = []
  faults.roleLost = true
  const calls = system.sandbox.cloud.calls().neutron
  await eventually(() => assert.ok(system.sandbox.cloud.calls().neutron > calls + 8), { within: 60_000 })
  faults.roleLost = false
  assert.deepEqual(await system.nodeState(node), before)
  system.attach({ vm: node, subnet: 'storage' })
  await system.waitUntilReady(40_000)
})

test('revoked and expiring tokens are renewed', async () => {
  system.sandbox.cloud.revokeTokens()
  system.sandbox.cloudState.faults.tokenSeconds = 2
  system.attach({ vm: other, subnet: 'storage' })
  await system.waitUntilReady(40_000)
})

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
