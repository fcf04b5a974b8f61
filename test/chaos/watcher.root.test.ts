/** Who watches the watcher: each guarantee is broken by hand, and it notices. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { run } from '../../sandbox/exec.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { jobs } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { emptyModel, type Model } from './model.ts'
import { startWatcher, type Watcher } from './watcher.ts'

const vm = 'worker-1'
let walk: TestSandbox
let model: Model
let watcher: Watcher

before(async () => {
  walk = await startTestSandbox({ nodes: 1 })
  for (const _ of [1, 2]) walk.attach({ vm, subnet: 'storage' })
  await walk.waitUntilReady()
  // From here on nobody puts right what is broken.
  for (const part of ['operator', 'viola', 'controller'] as const) walk.sandbox.components.suspend(part)
})
after(() => walk?.stop())

beforeEach(async () => {
  const { spec } = await walk.nodeConfig(vm)
  model = emptyModel()
  for (const { name = '', portId = '', macAddress } of spec.interfaces) {
    model.macs.add(macAddress)
    model.ports.set(name, { id: portId, macAddress: macAddress, vm, subnet: 'storage' })
  }
  watcher = await startWatcher(walk, model)
})
afterEach(() => watcher.stop())

const notes = (what: RegExp) => eventually(() => assert.match(watcher.violations.join('\n'), what), { within: 30_000 })

async function put(
  change: (interfaces: Awaited<ReturnType<TestSandbox['nodeConfig']>>['spec']['interfaces']) => object[],
) {
  const { spec } = await walk.nodeConfig(vm)
  const patch = { spec: { interfaces: change(structuredClone(spec.interfaces)) } }
  await walk.sandbox.biz.kube.patch(nodeConfigs, { namespace, name: vm }, patch)
}

test('nothing is noted while all is well', async () => {
  await watcher.look()
  assert.deepEqual(watcher.violations, [])
})

test('a foreign address that comes to the primary NIC is noted', async () => {
  const { namespace: netns = '' } = walk.sandbox.nodes.get(vm) ?? {}
  const primary =
    (await walk.nodeState(vm)).nics.find(({ macAddress }) => !model.macs.has(macAddress))?.name ?? assert.fail()
  await run('ip', ['-n', netns, 'address', 'add', '192.0.2.77/32', 'dev', primary])
  await notes(/G1: worker-1/)
  await run('ip', ['-n', netns, 'address', 'delete', '192.0.2.77/32', 'dev', primary])
})

test('a number that changes is noted', async () => {
  const renumbered = (id: number) => ({ id, name: `multinic${id}` })
  await put(interfaces => interfaces.map((nic, at) => ({ ...nic, ...renumbered(at === 0 ? 7 : 1) })))
  await notes(/G3: \S+ was multinic0 and is multinic7/)
  await put(interfaces => interfaces.map((nic, at) => ({ ...nic, ...renumbered(at) })))
})

test('a second Job on a node is noted', async () => {
  const { kube } = walk.sandbox.biz
  const template = { spec: { nodeName: vm, restartPolicy: 'Never' as const, containers: [{ name: 'x', image: 'x' }] } }
  for (const name of ['one', 'two'])
    await kube.create(jobs, {
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace } },
      spec: { suspend: true, template },
    })
  await notes(/two Jobs on worker-1/)
  for (const name of ['one', 'two']) await kube.delete(jobs, { namespace, name }, { propagation: 'Background' })
})

test('a port that is taken away though it is wanted is noted', async () => {
  await put(interfaces => interfaces.slice(1))
  await notes(/G2: worker-1 lost the port/)
})
