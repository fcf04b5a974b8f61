import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deviation, InventoryRecord } from '../../src/contract/inventory.ts'
import { countsOf, lookOf, nodeHas, nodeOf, worstFirst } from './nodes.ts'

type States = NonNullable<InventoryRecord['interfaces']>

function aRecord(interfaces: States, more: Partial<InventoryRecord> = {}): InventoryRecord {
  return {
    providerId: 'biz',
    nodeName: 'worker-1',
    instanceId: 'vm-1',
    config: {
      nodeName: 'worker-1',
      interfaces: [
        {
          id: 0,
          name: 'multinic0',
          portId: 'p0',
          macAddress: 'FA:16:3E:00:00:01',
          address: '10.1.0.5',
          cidr: '10.1.0.0/24',
        },
        {
          id: 3,
          name: 'multinic3',
          portId: 'p3',
          macAddress: 'fa:16:3e:00:00:02',
          address: '10.2.0.5',
          cidr: '10.2.0.0/24',
        },
      ],
    },
    lastConfigHash: 'h',
    updatedAt: '2026-01-02T03:04:05Z',
    interfaces,
    ...more,
  }
}

const mtuDiffers: Deviation = {
  providerId: 'biz',
  nodeName: 'worker-1',
  interface: 'multinic3',
  status: 'Configured',
  differences: [{ field: 'mtu', wanted: '9000', observed: '1500' }],
}

test('the look of a NIC', () => {
  const cases: [Parameters<typeof lookOf>, string][] = [
    [['Configured', 'InSync'], 'ok'],
    [['Configured', 'InSync', mtuDiffers.differences], 'drift'],
    [['Pending', 'Drifted'], 'drift'],
    [['Failed', 'NicMissing'], 'bad'],
    [['InProgress', 'Applying', mtuDiffers.differences], 'prog'],
    [[undefined], 'pend'],
    [['Pending', 'RemovalHeld'], 'held'],
    [['Configured', 'Removing'], 'rem'],
    [['Removed'], 'rem'],
  ]
  for (const [given, look] of cases) assert.equal(lookOf(...given), look, JSON.stringify(given))
})

test('a node is as bad as its worst NIC, and a state is found by port or MAC', () => {
  const node = nodeOf(
    aRecord([
      { macAddress: 'fa:16:3e:00:00:01', status: 'Configured' },
      { portId: 'p3', status: 'Configured' },
    ]),
    [mtuDiffers],
  )
  assert.deepEqual(
    node.nics.map(({ slot, look, address, network }) => [slot, look, address, network]),
    [
      [0, 'ok', '10.1.0.5/24', '10.1.0.0/24'],
      [3, 'drift', '10.2.0.5/24', '10.2.0.0/24'],
    ],
  )
  assert.equal(node.worst, 'drift')
  assert.deepEqual(countsOf([node]), { nodes: 1, nics: 2, ok: 1, drift: 1, bad: 0, held: 0, pend: 0, prog: 0, rem: 0 })
})

test('what holds the node is said at each NIC that has nothing to say for itself', () => {
  const held = { state: 'Pending', reason: 'NodeNotFound', message: 'not in this cluster', remedy: 'Join it.' } as const
  const { nics } = nodeOf(aRecord([{ portId: 'p3', status: 'Failed', reason: 'VerifyFailed' }], held), [])
  assert.deepEqual(
    nics.map(({ reason, remedy }) => [reason, remedy]),
    [
      ['NodeNotFound', 'Join it.'],
      ['VerifyFailed', ''],
    ],
  )
})

test('an interface that nobody wants any more is shown as long as it is there', () => {
  const { nics } = nodeOf(
    aRecord([
      { name: 'multinic7', portId: 'p7', status: 'Configured', observed: { addresses: ['10.3.0.9/24'] } },
      { name: 'multinic8', portId: 'p8', status: 'Removed' },
    ]),
    [],
  )
  assert.deepEqual(
    nics.map(({ name, look }) => [name, look]),
    [
      ['multinic0', 'pend'],
      ['multinic3', 'pend'],
      ['multinic7', 'rem'],
    ],
  )
})

test('worst first, then by name as people count', () => {
  const node = (nodeName: string, status: States[number]['status']) => {
    const record = aRecord(
      [
        { portId: 'p0', status },
        { portId: 'p3', status: 'Configured' },
      ],
      { nodeName },
    )
    return nodeOf(record, [])
  }
  const nodes = [node('w-10', 'Configured'), node('w-9', 'Configured'), node('w-2', 'Failed'), node('w-1', 'Pending')]
  assert.deepEqual(
    nodes.sort(worstFirst).map(({ nodeName }) => nodeName),
    ['w-2', 'w-1', 'w-9', 'w-10'],
  )
})

test('a node is found by anything on it', () => {
  const node = nodeOf(aRecord([]), [])
  for (const text of ['WORKER-1', '10.2.0.5', 'fa:16:3e:00:00:02', 'p3', '10.1.0.0/24', 'vm-1'])
    assert.ok(nodeHas(node, text), text)
  assert.ok(!nodeHas(node, '10.9'))
})
