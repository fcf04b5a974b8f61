import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox

before(async () => {
  system = await startTestSandbox({ nodes: 1, withConfig: false })
})
after(() => system.stop())

const node = 'worker-1'

async function delivered(): Promise<string[]> {
  const { spec } = await system.nodeConfig(node)
  return spec.interfaces.map(nic => `${nic.name} ${nic.address} from ${nic.source}`)
}

test('two OpenstackConfigs on one VM give the union of their ports', async () => {
  system.attach({ vm: node, subnet: 'storage' })
  system.attach({ vm: node, subnet: 'backup' })
  await system.addConfig('for-storage', [node], ['storage'])
  await eventually(async () => assert.equal((await system.nodeConfig(node)).status?.nics, '1/1'), { within: 20_000 })
  await system.addConfig('for-backup', [node], ['backup'])
  await system.waitUntilReady()
  assert.deepEqual(await delivered(), [
    'multinic0 10.10.0.10 from multinic-system/for-storage',
    'multinic1 10.20.0.10 from multinic-system/for-backup',
  ])
  const { nics } = await system.nodeState(node)
  assert.deepEqual(
    nics.map(nic => [nic.name, ...nic.addresses]),
    [
      ['ens3', '10.0.0.10/24'],
      ['multinic0', '10.10.0.10/24'],
      ['multinic1', '10.20.0.10/24'],
    ],
  )
})

test('while one of them cannot sync, the other keeps its interfaces and gets new ones', async () => {
  const { management } = system.sandbox
  const key = { namespace: sandboxNamespace, name: 'for-backup' }
  await management.kube.patch(openstackConfigs, key, {
    spec: { credentials: { openstackProviderID: 'unknown-provider' } },
  })
  await eventually(async () => {
    const ready = (await system.openstackConfig('for-backup')).status?.conditions?.find(({ type }) => type === 'Ready')
    assert.deepEqual([ready?.status, ready?.reason], ['False', 'ContrabassError'])
  })
  system.attach({ vm: node, subnet: 'storage' })
  await eventually(async () => assert.equal((await system.nodeConfig(node)).status?.nics, '3/3'), { within: 20_000 })
  assert.deepEqual(await delivered(), [
    'multinic0 10.10.0.10 from multinic-system/for-storage',
    'multinic1 10.20.0.10 from multinic-system/for-backup',
    'multinic2 10.10.0.11 from multinic-system/for-storage',
  ])
})

test('deleting an OpenstackConfig removes its own interfaces and no others', async () => {
  await system.sandbox.management.kube.delete(openstackConfigs, { namespace: sandboxNamespace, name: 'for-storage' })
  await eventually(
    async () => {
      assert.deepEqual(await delivered(), ['multinic1 10.20.0.10 from multinic-system/for-backup'])
      // While the agent removes the others, this one is ready already.
      const { state, nics } = (await system.nodeConfig(node)).status ?? {}
      assert.deepEqual([state, nics], ['Configured', '1/1'])
    },
    { within: 20_000 },
  )
  const { nics } = await system.nodeState(node)
  assert.deepEqual(
    nics.filter(nic => nic.name.startsWith('multinic')).map(nic => nic.addresses),
    [['10.20.0.10/24']],
  )
})
