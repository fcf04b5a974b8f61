/** `--selector`, with Nodes and their labels in the sandbox's Kubernetes API and a real inventory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { RunningInventory } from '../inventory/main.ts'
import { nodes } from '../kube/resources.ts'

let cluster: ControllerCluster
let controller: { stop(): Promise<void> }
let inventory: RunningInventory
let multinic: Run
const uuids: Record<string, string> = {}

const labels: Record<string, Record<string, string>> = {
  a1: { zone: 'a', role: 'db' },
  a2: { zone: 'a', role: 'web', spare: '' },
  b1: { zone: 'b', role: 'db' },
  // The inventory does not know it.
  m1: { zone: 'm' },
}

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
  for (const [name, own] of Object.entries(labels)) {
    uuids[name] = await cluster.addNode(name)
    await cluster.kube.patch(nodes, { name }, { metadata: { labels: own } })
  }
  const late = (name: string) => ({
    ...{ vm: uuids[name] ?? '', portId: `late-${name}`, name: 'multinic1', reason: 'Selected', message: '' },
  })
  inventory = await startOpenInventory()
  const writes = ['a1', 'a2', 'b1'].map(name => ({ ...aWrite(name), instanceId: uuids[name] ?? '' }))
  // Another cluster has a node of the same name.
  const other = { ...aWrite('a1', { providerId: 'p2' }), instanceId: '6f1c2a10-0001-4aaa-8bbb-ffffffffffff' }
  await inventory.recorder.put([...writes, other], [someVerdicts([late('a1'), late('b1')])])
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig, MULTINIC_INVENTORY_URL: inventory.url })
})
after(async () => {
  await controller.stop()
  await inventory.close()
  await cluster.close()
})

const selections: Record<string, string[]> = {
  'zone=a': ['a1', 'a2'],
  'zone==a,role=db': ['a1'],
  'zone!=a': ['b1'],
  'role in (db,cache)': ['a1', 'b1'],
  'zone in (a,b),role notin (db)': ['a2'],
  spare: ['a2'],
  '!spare': ['a1', 'b1'],
}
for (const [selector, expected] of Object.entries(selections))
  test(`experience: status --selector "${selector}" shows ${expected.join(' and ')}`, async () => {
    const { code, out, error } = await multinic('status', '-l', selector, '-o', 'json')
    assert.equal(code, 0, error)
    const { providers } = JSON.parse(out)
    const found = providers.flatMap(
      ({ providerId, configs }: { providerId: string; configs: { nodes: { nodeName: string }[] }[] }) =>
        configs.flatMap(config => config.nodes.map(({ nodeName }) => `${providerId} ${nodeName}`)),
    )
    assert.deepEqual(
      found,
      expected.map(name => `p1 ${name}`),
    )
  })

test('check --selector lists the interfaces of these nodes, also those that were not delivered', async () => {
  const { code, out } = await multinic('check', '--selector', 'zone=b', '-o', 'json')
  assert.equal(code, 1)
  const found = JSON.parse(out).map((one: { interface: string; portId: string }) => one.portId)
  assert.deepEqual(found, ['port-b1-0', 'late-b1'])
})

test('experience: retry --selector applies these nodes again and shows each result', async () => {
  for (const name of ['a1', 'a2', 'b1']) {
    await cluster.addConfig(name, uuids[name] ?? '')
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  const retrying = multinic('retry', '-l', 'zone=a')
  for (const name of ['a1', 'a2']) await cluster.finishPod(await cluster.endAgent(name))
  const { code, out, error } = await retrying
  assert.equal(code, 0, error)
  assert.deepEqual(
    out.split('\n').map(line => line.split(' ', 1)[0]),
    ['a1', 'a2', ''],
  )
})

test('retry --selector stops at a node that fails, and leaves the others alone', async () => {
  const before = await cluster.configOf('a2')
  const retrying = multinic('retry', '-l', 'zone=a')
  await cluster.finishPod(await cluster.endAgent('a1', { verdict: 'Failed', reason: 'PersistFailed', message: 'no' }))
  const { code, notes } = await retrying
  assert.equal(code, 1)
  assert.equal(notes.at(-1), 'stopped, because a1 failed; not retried: a2')
  assert.equal((await cluster.configOf('a2'))?.metadata.resourceVersion, before?.metadata.resourceVersion)
})

const mistakes: Record<string, [args: string[], says: RegExp]> = {
  'no Node': [['status', '-l', 'zone=none'], /^no Node has the labels zone=none$/],
  'no node of the inventory': [
    ['check', '-l', 'zone=m'],
    /^no node of this inventory is a Node with the labels zone=m in the cluster .* --context NAME$/,
  ],
  'a selector that is none': [['status', '-l', 'zone in a'], /^--selector zone in a: .*/],
  'a node and a selector': [['retry', 'a1', '-l', 'zone=a'], /either the name of a node or --selector/],
  'all nodes at once': [['retry', '-l', 'zone=a', '--no-wait'], /the nodes would all change at once/],
  'neither a node nor a selector': [['retry'], /either the name of a node or --selector/],
}
for (const [name, [args, says]] of Object.entries(mistakes))
  test(`${name}: no answer`, async () => {
    const { code, error } = await multinic(...args)
    assert.equal(code, 2, error)
    assert.match(error, says)
  })
