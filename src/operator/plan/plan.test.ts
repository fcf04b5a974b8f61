import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Subnet } from '../cloud.ts'
import type { DeliveredNode, Observed, Vm } from './observed-state.ts'
import {
  aNic,
  aNode,
  aPort,
  backup,
  detached,
  me,
  observed,
  one,
  outside,
  planText,
  storage,
  vm1,
  vm2,
} from './plan.fixture.ts'
import { planNodes, planRelease } from './plan.ts'

const reserved = (n: number, index: number) => ({
  ...{ vmId: 'vm-1', portId: `port-${n}`, index, until: '2026-11-15T01:10:00Z' },
})

const cases: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a new port gets the lowest index': [{ ports: [aPort(1)] }, ['send worker-1 0=port-1']],
  'new ports get indexes by the order of subnets, then age, then MAC address': [
    {
      ports: [
        aPort(9, { createdAt: '2026-11-15T02:00:00Z' }),
        aPort(8, { subnet: backup }),
        aPort(7, { createdAt: '2026-11-15T02:00:00Z' }),
        aPort(3),
      ],
    },
    ['send worker-1 0=port-3 1=port-7 2=port-9 3=port-8'],
  ],
  'an unchanged node is not sent': [{ ports: [aPort(1)], delivered: [one] }, []],
  'a port with a lower MAC address that is attached later changes no index': [
    { ports: [aPort(5), aPort(1)], delivered: [aNode([aNic(5, 0)])] },
    ['send worker-1 0=port-5 1=port-1'],
  ],
  'a removal leaves a gap, and a later port gets its index': [
    { ports: [aPort(2), aPort(9)], delivered: [aNode([aNic(2, 1)])] },
    ['send worker-1 0=port-9 1=port-2'],
  ],
  'the eleventh port is refused': [
    { ports: Array.from({ length: 11 }, (_, n) => aPort(n + 1)) },
    [
      'send worker-1 0=port-1 1=port-2 2=port-3 3=port-4 4=port-5 5=port-6 6=port-7 7=port-8 8=port-9 9=port-10',
      'port-11 LimitReached',
    ],
  ],

  'a port of another status is ignored': [{ ports: [aPort(1, { status: 'BUILD' })] }, ['port-1 PortStatusNotAllowed']],
  'statuses are compared in upper case, and an empty one is allowed': [
    { ports: [aPort(1, { status: 'active' }), aPort(2, { status: '' })] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a star allows every status': [
    { ports: [aPort(1, { status: 'BUILD' })], rules: { allowedStatuses: ['*'], owners: ['compute:*'] } },
    ['send worker-1 0=port-1'],
  ],
  'a port of another owner with the id of our VM is ignored': [
    { ports: [aPort(1, { owner: 'network:dhcp' })] },
    ['port-1 DeviceOwnerNotAllowed'],
  ],
  'a port without owner is not bound yet': [{ ports: [aPort(1, { owner: '' })] }, ['port-1 PortNotBound']],
  'a port created before the baseline is ignored, with five minutes for clock differences': [
    { ports: [aPort(1, { createdAt: '2026-11-15T00:54:59Z' }), aPort(2, { createdAt: '2026-11-15T00:55:01' })] },
    ['send worker-1 0=port-2', 'port-1 PortTooOld'],
  ],
  'with a baseline, a port without creation time is ignored': [
    { ports: [aPort(1, { createdAt: '' })] },
    ['port-1 PortTooOld'],
  ],
  'without a baseline no port is too old': [
    {
      ports: [aPort(1, { createdAt: '2001-01-01T00:00:00Z' })],
      rules: { allowedStatuses: ['*'], owners: ['compute:*'] },
    },
    ['send worker-1 0=port-1'],
  ],
  'a port without an address in a selected subnet is ignored': [
    { ports: [aPort(1), outside(2)] },
    ['send worker-1 0=port-1', 'port-2 NotSelected'],
  ],
  'a port of another network than its subnet is ignored': [
    { ports: [aPort(1, { networkId: 'net-x' })] },
    ['port-1 NetworkMismatch'],
  ],

  'experience M2: ports outside the subnets are not selected while the addresses of the Node are unknown': [
    { ports: [outside(1), outside(3, { owner: '', status: 'BUILD', createdAt: '' }), aPort(2)] },
    ['send worker-1 0=port-2', 'port-1 NotSelected', 'port-3 NotSelected'],
  ],
  'experience M2: the port with an address of the Node is its primary port, whatever its age': [
    {
      ports: [aPort(2), outside(3), outside(9)],
      delivered: [aNode([aNic(2, 0)], { status: { nodeAddresses: ['fd00::1', '10.9.0.9'] } })],
    },
    ['port-3 NotSelected', 'port-9 PrimaryPort'],
  ],
  'experience M2: the primary port is never selected, even in a selected subnet': [
    {
      ports: [aPort(2), aPort(3)],
      delivered: [aNode([aNic(2, 0)], { status: { nodeAddresses: ['10.1.0.3'] } })],
    },
    ['port-3 PrimaryPort'],
  ],
  'experience M2: a delivered port that the agent refused as the primary port keeps its index and says so': [
    {
      ports: [aPort(2)],
      delivered: [
        aNode([aNic(2, 0)], { status: { interfaceStatuses: [{ portId: 'port-2', reason: 'HasNodeAddress' }] } }),
      ],
    },
    ['port-2 PrimaryPort'],
  ],

  'a port that returns gets the index that is reserved for it': [
    { ports: [aPort(1), aPort(2)], reservedIndexes: [reserved(2, 3)] },
    ['send worker-1 0=port-1 3=port-2'],
  ],
  'an index that is reserved for a port is not given to another one': [
    { ports: [aPort(1)], reservedIndexes: [reserved(2, 0)] },
    ['send worker-1 1=port-1'],
  ],
  'the index of a port that leaves is not given to one that comes at the same time': [
    { ports: [aPort(2)], delivered: [one], portChecks: detached(1) },
    ['send worker-1 1=port-2'],
  ],
  'an index that is reserved on another VM is free': [
    { ports: [aPort(1)], reservedIndexes: [{ ...reserved(2, 0), vmId: 'vm-2' }] },
    ['send worker-1 0=port-1'],
  ],
  'a reserved index is given to another port if no other one is free': [
    {
      ports: [aPort(30)],
      delivered: [aNode([0, 1, 2, 3, 4, 6, 7, 9].map(index => aNic(index + 1, index, { source: 'ns/other' })))],
      reservedIndexes: [reserved(20, 5), reserved(21, 8)],
    },
    ['send worker-1 0=port-1 1=port-2 2=port-3 3=port-4 4=port-5 5=port-30 6=port-7 7=port-8 9=port-10'],
  ],
  'a reserved index is given to a port whose subnet has it': [
    { subnets: [{ ...storage, index: 0 }], ports: [aPort(1)], reservedIndexes: [reserved(2, 0)] },
    ['send worker-1 0=port-1'],
  ],
  'a port whose reserved index is in use gets another one': [
    { ports: [aPort(1), aPort(2)], delivered: [one], reservedIndexes: [reserved(2, 0)] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a port that is recreated with the same MAC address keeps the index': [
    { ports: [aPort(1, { id: 'port-new' })], delivered: [one] },
    ['send worker-1 0=port-new'],
  ],

  'an interface of another object on the same node is not changed': [
    {
      ports: [aPort(1), aPort(2)],
      delivered: [aNode([aNic(1, 0, { source: 'ns/other', mtu: 1400 })])],
      claims: [{ source: 'ns/other', vmIds: ['vm-1'], subnetIds: [], indexes: [] }],
    },
    ['send worker-1 0=port-1 1=port-2', 'port-1 SelectedByOther'],
  ],
  'an object that selects the interface of a deleted object adopts it': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 0, { source: 'ns/deleted' })])] },
    ['send worker-1 0=port-1'],
  ],
  'an interface that another object selects too is handed over': [
    {
      vms: [vm2],
      delivered: [one],
      claims: [{ source: 'ns/heir', vmIds: ['vm-1'], subnetIds: ['storage'], indexes: [] }],
    },
    ['send worker-1 0=port-1'],
  ],
  'an interface of the Go operator, without source or port id, keeps its index by its MAC address': [
    {
      ports: [aPort(1), aPort(2)],
      delivered: [
        aNode([
          { index: 4, name: 'multinic4', macAddress: aPort(2).macAddress, address: '10.1.0.2', cidr: '10.1.0.0/24' },
        ]),
      ],
    },
    ['send worker-1 0=port-1 4=port-2'],
  ],

  'a port that moved to another VM is removed, and its verdict names the VM': [
    { ports: [aPort(1, { serverId: 'vm-9' })], delivered: [one], portChecks: detached(1) },
    ['remove worker-1', 'port-1 VmNotSelected'],
  ],
  'a port that Neutron has on another VM and Nova still on this one stays': [
    { ports: [aPort(1, { serverId: 'vm-9' })], delivered: [one], portChecks: new Map([['port-1', 'attached']]) },
    ['port-1 RemovalUnconfirmed'],
  ],

  'a VM whose name is unknown waits': [
    { vms: [{ ...vm1, state: 'unknown', name: undefined } as unknown as Vm], ports: [aPort(1)] },
    ['port-1 VmNameUnknown', 'vm-1 VmNameUnknown'],
  ],
  'a delivered VM keeps its node when Nova fails': [
    { vms: [{ entry: 'vm-1', id: 'vm-1', state: 'unknown' }], ports: [aPort(1), aPort(2)], delivered: [one] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a renamed server keeps its node': [
    { vms: [{ ...vm1, name: 'renamed' }], ports: [aPort(1), aPort(2)], delivered: [one] },
    ['send worker-1 0=port-1 1=port-2', 'vm-1 VmNameChanged'],
  ],
  'a VM that does not exist gets a verdict': [
    { vms: [{ entry: 'vm-1', id: 'vm-1', state: 'notFound' }] },
    ['vm-1 VmNotFound'],
  ],
  'a name of several servers gets a verdict': [{ vms: [{ entry: 'w', state: 'notUnique' }] }, ['w VmNotUnique']],
  'two VMs with the same name are both refused, and the third is delivered': [
    {
      vms: [vm1, { ...vm2, name: 'Worker-1' }, { entry: 'vm-3', id: 'vm-3', state: 'found', name: 'worker-3' }],
      ports: [aPort(1), aPort(2, { serverId: 'vm-2' }), aPort(3, { serverId: 'vm-3' })],
    },
    [
      'send worker-3 0=port-3',
      'port-1 VmNameNotUnique',
      'port-2 VmNameNotUnique',
      'vm-1 VmNameNotUnique',
      'vm-2 VmNameNotUnique',
    ],
  ],
  'operator 15c: a VM whose name is a path or cannot be read gets a verdict, and the other VM is delivered': [
    {
      vms: [vm1, { ...vm2, name: '..' }, { entry: 'vm-3', id: 'vm-3', state: 'found', name: 'w\n3' }],
      ports: [aPort(1), aPort(2, { serverId: 'vm-2' })],
    },
    ['send worker-1 0=port-1', 'port-2 VmNameInvalid', 'vm-2 VmNameInvalid', 'vm-3 VmNameInvalid'],
  ],
  'a second VM with the name of a delivered one is refused, and the first is still updated': [
    {
      vms: [vm1, { ...vm2, name: 'worker-1' }],
      ports: [aPort(1), aPort(2), aPort(3, { serverId: 'vm-2' })],
      delivered: [one],
    },
    ['send worker-1 0=port-1 1=port-2', 'port-3 VmNameNotUnique', 'vm-2 VmNameNotUnique'],
  ],
  'operator 13: a port that is listed twice gets one index': [
    { ports: [aPort(1), aPort(1), aPort(2)] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a node whose config is empty gets interfaces again': [
    { ports: [aPort(1)], delivered: [aNode([])] },
    ['send worker-1 0=port-1'],
  ],
}

for (const [name, [given, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(planText(planNodes(observed(given))), expected))

test('an MTU that Neutron omits stays as delivered', () => {
  const plan = planNodes(observed({ ports: [aPort(1)], delivered: [aNode([aNic(1, 0, { mtu: 9000 })])] }))
  assert.deepEqual(planText(plan), [])
})

test('both addresses of a port are delivered, that of the first selected subnet first', () => {
  const v6: Subnet = { ...storage, id: 'v6', cidr: 'fd00::/64', gateway: 'fd00::1' }
  const addresses = [
    { subnetId: 'v6', address: 'fd00::10' },
    { subnetId: 'storage', address: '10.1.0.10' },
  ]
  const [node] = planNodes(observed({ subnets: [storage, v6], ports: [aPort(1, { addresses })] })).nodes
  const [nic] = node?.interfaces ?? []
  assert.deepEqual(
    [nic?.address, nic?.cidr, nic?.addresses],
    ['10.1.0.10', '10.1.0.0/24', ['10.1.0.10/24', 'fd00::10/64']],
  )
})

test('each node carries the spec hash that it was planned on', () => {
  const plan = planNodes(
    observed({ vms: [vm1, vm2], ports: [aPort(2), aPort(3, { serverId: 'vm-2' })], delivered: [one] }),
  )
  assert.deepEqual(
    plan.nodes.map(node => [node.nodeName, node.expectedSpecHash]),
    [
      ['worker-1', 'delivered'],
      ['worker-2', ''],
    ],
  )
})

test('deletion of an object removes its own interfaces and keeps the others', () => {
  const nodes = planRelease(
    me,
    [aNode([aNic(1, 0), aNic(2, 1, { source: 'ns/other' })]), aNode([aNic(3, 0)], { nodeName: 'worker-2' })],
    [],
  )
  assert.deepEqual(
    nodes.map(({ action, nodeName, interfaces }) => [action, nodeName, interfaces.map(nic => nic.portId)]),
    [
      ['send', 'worker-1', ['port-2']],
      ['remove', 'worker-2', []],
    ],
  )
})

test('a port keeps its index, whatever is attached, detached or restarted', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('attach' as const), n: fc.integer({ min: 1, max: 14 }) }),
    fc.record({ do: fc.constant('detach' as const), n: fc.integer({ min: 1, max: 14 }) }),
    fc.record({ do: fc.constant('hide' as const), n: fc.integer({ min: 1, max: 14 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const attached = new Set<number>()
      const indexes = new Map<string, number>()
      let nodes: DeliveredNode[] = []
      for (const { do: what, n } of steps) {
        if (what === 'attach') attached.add(n)
        if (what === 'detach') attached.delete(n)
        // Only the delivered nodes are carried over: each sync runs in a new operator.
        const listed = [...attached].filter(one => what !== 'hide' || one !== n).map(one => aPort(one))
        const first = planNodes(observed({ ports: listed, delivered: nodes }))
        const portChecks = new Map(
          first.missingPorts.map(({ portId = '' }) => [
            portId,
            attached.has(Number(portId.slice(5))) ? ('attached' as const) : ('detached' as const),
          ]),
        )
        const plan = planNodes(observed({ ports: listed, delivered: nodes, portChecks, removalsApproved: true }))
        nodes = plan.nodes.flatMap(node =>
          node.interfaces.length > 0
            ? [aNode(node.interfaces, { nodeName: node.nodeName, instanceId: node.instanceId })]
            : [],
        )
        const now = new Map(nodes.flatMap(node => node.interfaces.map(nic => [nic.portId ?? '', nic.index])))
        assert.equal(new Set(now.values()).size, now.size, 'two interfaces have the same index')
        for (const [port, index] of now)
          if (indexes.has(port)) assert.equal(index, indexes.get(port), `${port} has another index`)
        for (const one of attached) if (now.size < 10) assert.ok(now.has(`port-${one}`) || what === 'hide')
        indexes.clear()
        for (const [port, index] of now) indexes.set(port, index)
      }
    }),
    { numRuns: 200 },
  )
})
