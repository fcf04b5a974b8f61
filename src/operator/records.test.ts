import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryWrite } from '../contract/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { aNic, aNode, aPort, me, observed, one, storage, vm1 } from './plan.fixture.ts'
import { type NodePlan, planNodes } from './plan.ts'
import { createRecords } from './records.ts'

function aRecorder() {
  const writes: InventoryWrite[] = []
  const put = async (some: InventoryWrite[]) => void writes.push(...some)
  return { writes, records: createRecords({ put }, () => new Date('2026-01-01T00:00:00Z')) }
}

function planWith(subnetName: string, serverName: string, delivered = one): NodePlan {
  const subnets = [{ ...storage, name: subnetName }]
  const cloud = { subnets, ports: [aPort(1)], vms: [{ ...vm1, serverName }], delivered: [delivered] }
  return planNodes(observed(cloud)).nodes[0] ?? assert.fail('no plan')
}

const namesIn = ({ instanceName, config }: InventoryWrite) => [
  instanceName,
  ...config.interfaces.map(({ subnetName }) => subnetName),
]

test('experience M10: the inventory gets current names of nodes that are not delivered again', async () => {
  const { writes, records } = aRecorder()
  const sync = async (plan: NodePlan) => {
    assert.equal(plan.action, 'keep')
    records.noteNames('biz', plan, me)
    records.note('biz', one, 'the node is Pending')
    await records.flush(silent)
  }
  const plan = planWith('storage', 'web')
  await sync(plan)
  await sync(plan)
  assert.deepEqual(writes.map(namesIn), [['web', 'storage']])
  await sync(planWith('storage', 'web'))
  assert.equal(writes.length, 1)
  await sync(planWith('renamed', 'database'))
  assert.deepEqual(writes.slice(1).map(namesIn), [['database', 'renamed']])
})

test('a record has the name of the provider, also while the node is removed', async () => {
  const { writes, records } = aRecorder()
  const node = { ...one, providerName: 'Seoul 1' }
  records.note('biz', node, 'the node is Pending')
  await records.flush(silent)
  records.note('biz', { ...node, providerName: 'Seoul 2' }, 'the node is Pending')
  await records.flush(silent)
  records.noteRemoving('biz', { ...node, providerName: 'Seoul 2' }, 'gone')
  await records.flush(silent)
  assert.deepEqual(
    writes.map(({ providerName, reason }) => [providerName, reason === 'Removing']),
    [
      ['Seoul 1', false],
      ['Seoul 2', false],
      ['Seoul 2', true],
    ],
  )
})

test('two objects with interfaces on one node do not overwrite the names of each other', async () => {
  const { writes, records } = aRecorder()
  const shared = aNode([aNic(1, 0), aNic(2, 1, { source: 'ns/other', subnetName: 'delivered' })])
  const planned = (index: number, subnetName: string): NodePlan => ({
    ...planWith('x', 'web', shared),
    interfaces: shared.interfaces.map((nic, at) => (at === index ? { ...nic, subnetName } : nic)),
  })
  const [mine, others] = [planned(0, 'mine'), planned(1, 'theirs')]
  for (const [plan, source] of [
    [mine, me],
    [others, 'ns/other'],
    [{ ...mine }, me],
    [{ ...others }, 'ns/other'],
  ] as const) {
    records.noteNames('biz', plan, source)
    records.note('biz', shared, 'the node is Pending')
    await records.flush(silent)
  }
  assert.deepEqual(writes.map(namesIn), [
    ['web', 'mine', 'delivered'],
    ['web', 'mine', 'theirs'],
  ])
})
