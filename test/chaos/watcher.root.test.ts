/** The watcher of chaos reports each guarantee that a test breaks. */
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { run } from '../../sandbox/exec.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { jobs } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { emptyModel, type Model } from './model.ts'
import { rebootAndCompare } from './reboot.ts'
import { startWatcher, type Watcher } from './watcher.ts'

const vm = 'worker-1'
let system: TestSandbox
let model: Model
let watcher: Watcher

before(async () => {
  system = await startTestSandbox({ nodes: 1 })
  for (const _ of [1, 2]) system.attach({ vm, subnet: 'storage' })
  await system.waitUntilReady()
  // From here on, no component repairs what the tests break.
  for (const component of ['operator', 'viola', 'controller'] as const) system.sandbox.components.suspend(component)
})
after(() => system?.stop())

beforeEach(async () => {
  const { spec } = await system.nodeConfig(vm)
  model = emptyModel()
  for (const { name = '', portId = '', macAddress } of spec.interfaces) {
    model.macAddresses.add(macAddress)
    model.ports.set(name, { id: portId, macAddress: macAddress, vm, subnet: 'storage' })
  }
  watcher = await startWatcher(system, model)
})
afterEach(() => watcher.stop())

const expectViolation = (pattern: RegExp) =>
  eventually(() => assert.match(watcher.violations.join('\n'), pattern), { within: 30_000 })

async function changeInterfaces(
  change: (interfaces: Awaited<ReturnType<TestSandbox['nodeConfig']>>['spec']['interfaces']) => object[],
) {
  const { spec } = await system.nodeConfig(vm)
  const patch = { spec: { interfaces: change(structuredClone(spec.interfaces)) } }
  await system.sandbox.biz.kube.patch(nodeConfigs, { namespace, name: vm }, patch)
}

test('without a violation, the watcher reports none', async () => {
  await watcher.inspect()
  assert.deepEqual(watcher.violations, [])
})

test('a boot that lost the file of a NIC is reported, and one with all files is not', async () => {
  assert.deepEqual(await watcher.ignoring(vm, () => rebootAndCompare(system, vm)), [])
  const file = join(system.sandbox.nodes.get(vm)?.root ?? '', 'etc/netplan/90-multinic0.yaml')
  const text = await readFile(file, 'utf8')
  await rm(file)
  const [lost] = await watcher.ignoring(vm, () => rebootAndCompare(system, vm))
  assert.match(lost ?? '', /^G10: worker-1 booted without multinic0 /)
  await writeFile(file, text, { mode: 0o600 })
})

test('the watcher reports a foreign address on the primary NIC', async () => {
  const { namespace: netns = '' } = system.sandbox.nodes.get(vm) ?? {}
  const primary =
    (await system.nodeState(vm)).nics.find(({ macAddress }) => !model.macAddresses.has(macAddress))?.name ??
    assert.fail()
  await run('ip', ['-n', netns, 'address', 'add', '192.0.2.77/32', 'dev', primary])
  await expectViolation(/G1: worker-1/)
  await run('ip', ['-n', netns, 'address', 'delete', '192.0.2.77/32', 'dev', primary])
})

test('the watcher reports a foreign file with other content of the same length', async () => {
  const file = join(system.sandbox.nodes.get(vm)?.root ?? '', 'etc/netplan/50-cloud-init.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('dhcp4: true', 'dhcp6: true'))
  await expectViolation(/G1: worker-1/)
  await writeFile(file, text)
})

test('the watcher reports a changed interface index', async () => {
  const renumbered = (id: number) => ({ id, name: `multinic${id}` })
  await changeInterfaces(interfaces =>
    interfaces.map((nic, position) => ({ ...nic, ...renumbered(position === 0 ? 7 : 1) })),
  )
  await expectViolation(/G3: \S+ was multinic0 and is multinic7/)
  await changeInterfaces(interfaces => interfaces.map((nic, position) => ({ ...nic, ...renumbered(position) })))
})

test('the watcher reports a second Job on a node', async () => {
  const { kube } = system.sandbox.biz
  const template = { spec: { nodeName: vm, restartPolicy: 'Never' as const, containers: [{ name: 'x', image: 'x' }] } }
  for (const name of ['one', 'two'])
    await kube.create(jobs, {
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace } },
      spec: { suspend: true, template },
    })
  await expectViolation(/two Jobs on worker-1/)
  for (const name of ['one', 'two']) await kube.delete(jobs, { namespace, name }, { propagation: 'Background' })
})

test('the watcher reports the removal of a requested port', async () => {
  await changeInterfaces(interfaces => interfaces.slice(1))
  await expectViolation(/G2: worker-1 lost port/)
})

test('the watcher reports an interface that is Configured with another MTU', async () => {
  const { status } = await system.nodeConfig(vm)
  const interfaceStatuses = status?.interfaceStatuses?.map(nic => ({
    ...nic,
    observed: { ...nic.observed, mtu: 1_234 },
  }))
  const { generation: observedGeneration } = (await system.nodeConfig(vm)).metadata
  await system.sandbox.biz.kube.patchStatus(
    nodeConfigs,
    { namespace, name: vm },
    { ...status, observedGeneration, interfaceStatuses },
  )
  await expectViolation(/G7: worker-1 multinic\d is Configured, but was observed as .*1234/)
})

test('the watcher reports a secret in an object', async () => {
  const annotations = { note: `the password is ${system.sandbox.cloudState.user.password}` }
  await system.sandbox.management.kube.patch(
    openstackConfigs,
    { namespace, name: 'sandbox' },
    { metadata: { annotations } },
  )
  await expectViolation(/G9: OpenstackConfig sandbox contains the password of the cloud/)
})
