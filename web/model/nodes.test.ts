import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deviation, InventoryRecord } from '../../src/contract/inventory.ts'
import { subnetTexts } from '../ui/format.ts'
import { causeOf, countsOf, nodeMatches, nodeOf, severityOf } from './nodes.ts'
import { worstFirst } from './order.ts'
import { subnetsOf } from './subnets.ts'

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

test('status, reason and differences give the severity of a NIC', () => {
  const cases: [Parameters<typeof severityOf>, string][] = [
    [['Configured', 'InSync'], 'configured'],
    [['Configured', 'InSync', mtuDiffers.differences], 'drifted'],
    [['Configured', 'InSync', [{ field: 'mtu', wanted: '9000', delivered: '1450', observed: '1450' }]], 'pending'],
    [['Pending', 'Drifted'], 'drifted'],
    [['Failed', 'Drifted'], 'drifted'],
    [['Failed', 'NicMissing'], 'failed'],
    [['InProgress', 'Applying', mtuDiffers.differences], 'inProgress'],
    [[undefined], 'pending'],
    [['Pending', 'RemovalHeld'], 'onHold'],
    [['Configured', 'Removing'], 'removing'],
    [['Removed'], 'removing'],
  ]
  for (const [input, severity] of cases) assert.equal(severityOf(...input), severity, JSON.stringify(input))
})

test('a node has the severity of its worst NIC, and a state belongs to a NIC by port or MAC', () => {
  const node = nodeOf(
    aRecord([
      { macAddress: 'fa:16:3e:00:00:01', status: 'Configured' },
      { portId: 'p3', status: 'Configured' },
    ]),
    [mtuDiffers],
  )
  assert.deepEqual(
    node.nics.map(({ index, severity, address, network }) => [index, severity, address, network]),
    [
      [0, 'configured', '10.1.0.5/24', '10.1.0.0/24'],
      [3, 'drifted', '10.2.0.5/24', '10.2.0.0/24'],
    ],
  )
  assert.equal(node.worst, 'drifted')
  assert.deepEqual(countsOf([node]), {
    nodes: 1,
    nics: 2,
    configured: 1,
    drifted: 1,
    failed: 0,
    onHold: 0,
    pending: 0,
    inProgress: 0,
    removing: 0,
  })
})

test('experience H4: a NIC that waits shows what it waits for beside its last observed state', () => {
  const pending = { reason: 'Paused', message: 'paused', remedy: 'Remove it.' }
  const cases: [States[number], string][] = [
    [{ status: 'Configured', pending }, 'pending, last configured: Paused'],
    [{ status: 'Configured', pending: { ...pending, reason: 'Applying' } }, 'inProgress, last configured: Applying'],
    [{ status: 'Failed', reason: 'CommandFailed', pending }, 'failed, last failed: CommandFailed'],
    [{ status: 'Failed', reason: 'Drifted', pending }, 'drifted, last drifted: Drifted'],
    [{ status: 'Pending', pending }, 'pending, last undefined: Paused'],
  ]
  for (const [state, expected] of cases) {
    const observed = { ifindex: 7, mtu: 1500 }
    const { nics } = nodeOf(aRecord([{ portId: 'p0', ...state, observed }]), [])
    const [nic] = nics
    assert.ok(nic)
    assert.equal(`${nic.severity}, last ${nic.lastSeverity}: ${causeOf(nic).reason}`, expected)
    assert.deepEqual([nic.observed, nic.pending?.message], [observed, 'paused'])
    assert.equal(nics[1]?.pending, undefined)
  }
})

test('a NIC without a reason of its own has the reason of the node', () => {
  const pending = {
    state: 'Pending',
    reason: 'NodeNotFound',
    message: 'not in this cluster',
    remedy: 'Join it.',
  } as const
  const { nics } = nodeOf(aRecord([{ portId: 'p3', status: 'Failed', reason: 'VerifyFailed' }], pending), [])
  assert.deepEqual(
    nics.map(({ reason, remedy }) => [reason, remedy]),
    [
      ['NodeNotFound', 'Join it.'],
      ['VerifyFailed', ''],
    ],
  )
})

test('an interface that is no longer requested is shown until it is removed', () => {
  const { nics } = nodeOf(
    aRecord([
      { name: 'multinic7', portId: 'p7', status: 'Configured', observed: { addresses: ['10.3.0.9/24'] } },
      { name: 'multinic8', portId: 'p8', status: 'Removed' },
    ]),
    [],
  )
  assert.deepEqual(
    nics.map(({ name, severity }) => [name, severity]),
    [
      ['multinic0', 'pending'],
      ['multinic3', 'pending'],
      ['multinic7', 'removing'],
    ],
  )
})

test('nodes are sorted worst first, then by name in natural order', () => {
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

test('a node matches its names and the values of its NICs', () => {
  const node = nodeOf(aRecord([]), [])
  for (const text of ['WORKER-1', '10.2.0.5', 'fa:16:3e:00:00:02', 'p3', '10.1.0.0/24', 'vm-1'])
    assert.ok(nodeMatches(node, text), text)
  assert.ok(!nodeMatches(node, '10.9'))
})

test('experience M10: a node is found by the names of its VM, subnets and networks', () => {
  const record = aRecord([], { instanceName: 'Web server' })
  Object.assign(record.config.interfaces[1] ?? {}, { subnetId: 's-1', subnetName: 'Storage', networkName: 'Net A' })
  const node = nodeOf(record, [])
  for (const text of ['web s', 'storage', 'net a']) assert.ok(nodeMatches(node, text), text)
  assert.equal(nodeMatches(node, 'backup'), false)
})

test('experience M10: a subnet is shown by its name, then its network and its ID', () => {
  const named = aRecord([], { nodeName: 'worker-2' })
  Object.assign(named.config.interfaces[1] ?? {}, { subnetId: 's-1', subnetName: 'storage', networkName: 'net-a' })
  const older = aRecord([])
  Object.assign(older.config.interfaces[1] ?? {}, { subnetId: 's-1' })
  const [, subnet] = subnetsOf([older, named].map(record => nodeOf(record, [])))
  assert.ok(subnet)
  assert.equal(subnet.attachments.length, 2)
  assert.deepEqual(subnetTexts(subnet), ['storage', '10.2.0.0/24', 's-1'])
  assert.equal(subnet.networkName, 'net-a')
  assert.deepEqual(subnetTexts({ ...subnet, subnetName: '' }), ['10.2.0.0/24', 's-1'])
})
