/** What people read about a plan: the verdicts in the status and the inventory, and the causes in the history. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveredNode, Observed, SelectedSubnet, Vm } from './observed-state.ts'
import { aNic, aNode, aPort, backup, detached, me, observed, one, outside, storage, vm1, vm2 } from './plan.fixture.ts'
import { planNodes, planRelease } from './plan.ts'

const heir = { source: 'ns/heir', vmIds: ['vm-1'], subnetIds: ['storage'], indexes: [] }
const storage0: SelectedSubnet = { ...storage, index: 0, alias: 'data' }
const sameNetwork: SelectedSubnet = { ...backup, networkId: 'net-s', index: 1 }
const inBoth = aPort(1, {
  addresses: [
    { subnetId: 'storage', address: '10.1.0.1' },
    { subnetId: 'backup', address: '10.2.0.1' },
  ],
})

const verdicts: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a selected port': [{ ports: [aPort(1)] }, ['port-1 Selected: multinic0']],
  'a port without a device owner': [
    { ports: [aPort(1, { owner: '' })] },
    ['port-1 PortNotBound: the port has no device owner yet'],
  ],
  'a port of another owner': [
    { ports: [aPort(1, { owner: 'network:dhcp' })] },
    ['port-1 DeviceOwnerNotAllowed: the device owner of the port is network:dhcp'],
  ],
  'a port that is not ready': [
    { ports: [aPort(1, { status: 'build' })] },
    ['port-1 PortStatusNotAllowed: the status of the port is BUILD'],
  ],
  'a port that is too old': [
    { ports: [aPort(1, { createdAt: '2001-01-01T00:00:00Z' })] },
    ['port-1 PortTooOld: the port was created at 2001-01-01T00:00:00Z'],
  ],
  'a port without a creation time': [
    { ports: [aPort(1, { createdAt: '' })] },
    ['port-1 PortTooOld: the port has no creation time'],
  ],
  'a port outside the subnets': [
    { ports: [outside(1)] },
    ['port-1 NotSelected: the port has no address in a selected subnet'],
  ],
  'a port of another network': [
    { ports: [aPort(1, { networkId: 'net-x' })] },
    ['port-1 NetworkMismatch: the selected subnet belongs to another network than the port'],
  ],
  'a port in subnets with different indexes': [
    { subnets: [storage0, { ...sameNetwork, name: '' }], ports: [inBoth] },
    ['port-1 IndexConflict: the port has addresses in subnets with different indexes: storage (0), backup (1)'],
  ],
  'a port whose index is in use': [
    {
      subnets: [storage0],
      ports: [aPort(1)],
      delivered: [aNode([aNic(9, 0, { source: 'ns/x', subnetId: 'x' })])],
      claims: [{ ...heir, source: 'ns/x' }],
    },
    ['port-1 IndexInUse: multinic0 of worker-1 is port port-9 of another subnet'],
  ],
  'the eleventh port': [
    {
      ports: [aPort(11)],
      delivered: [aNode(Array.from({ length: 10 }, (_, n) => aNic(n + 1, n, { source: 'ns/x', subnetId: 'x' })))],
      claims: [{ ...heir, source: 'ns/x' }],
    },
    ['port-11 LimitReached: worker-1 already has 10 interfaces'],
  ],
  'a port for which only reserved indexes are free': [
    { ports: [aPort(1)], claims: [{ ...heir, subnetIds: [], indexes: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }] },
    ['port-1 LimitReached: the free indexes of worker-1 belong to other subnets'],
  ],
  'a port of a VM without a usable name': [
    { vms: [{ entry: 'vm-1', id: 'vm-1', state: 'unknown' }], ports: [aPort(1), outside(2)] },
    [
      'port-2 NotSelected: the port has no address in a selected subnet',
      'port-1 VmNameUnknown: server vm-1: its name is not known yet',
      'vm-1 VmNameUnknown: server vm-1: its name is not known yet',
    ],
  ],
  'a port that moved to a VM that is not selected': [
    { ports: [aPort(1, { serverId: 'vm-9' })], delivered: [one], portChecks: detached(1) },
    ['port-1 VmNotSelected: the port was multinic0 of worker-1 before'],
  ],
  'a port that another object has': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 0, { source: 'ns/x' })])], claims: [{ ...heir, source: 'ns/x' }] },
    ['port-1 SelectedByOther: multinic0 of ns/x'],
  ],
  'a port outside the subnets that the Go operator delivered': [
    { ports: [outside(1)], delivered: [aNode([{ ...aNic(1, 0), source: undefined } as never])] },
    ['port-1 SelectedByOther: multinic0 of another object'],
  ],
  'a delivered port of another object that is not on a selected VM': [
    { delivered: [aNode([aNic(1, 0, { source: 'ns/x' })])] },
    [],
  ],
  'a delivered port that is handed over': [{ vms: [vm2], ports: [aPort(1)], delivered: [one], claims: [heir] }, []],
  'the primary port': [
    { ports: [aPort(2), aPort(3)], delivered: [aNode([aNic(2, 0)], { status: { nodeAddresses: ['10.1.0.3'] } })] },
    [
      'port-3 PrimaryPort: the port is the primary port of the node; MultiNIC does not manage it',
      'port-2 Selected: multinic0',
    ],
  ],
  'a port that is not listed on its VM': [
    { delivered: [one] },
    ['port-1 RemovalUnconfirmed: multinic0 stays: Neutron does not list the port on the VM'],
  ],
  'a port that only Nova lists on its VM': [
    { delivered: [one], portChecks: new Map([['port-1', 'attached']]) },
    [
      'port-1 RemovalUnconfirmed: multinic0 stays: Neutron does not list the port on the VM, but a second answer has it',
    ],
  ],
  'a port that is listed without its address': [
    { ports: [aPort(1, { addresses: [] })], delivered: [one] },
    ['port-1 RemovalUnconfirmed: multinic0 stays: Neutron lists the port without an address in a selected subnet'],
  ],
  'a port of a subnet whose name means another subnet': [
    {
      ...{ subnets: [backup], subnetNames: { storage: 'backup' }, resolvedSubnets: { storage: 'storage' } },
      ...{ ports: [aPort(1)], delivered: [one] },
    },
    [
      'port-1 SubnetNameReused: multinic0 stays until you approve its removal: storage in subnets now means subnet backup',
    ],
  ],
  'a delivered port of a node without an instance ID': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 4)], { instanceId: '' })] },
    ['port-1 Selected: multinic4'],
  ],
}

for (const [name, [given, expected]] of Object.entries(verdicts))
  test(`verdict on ${name}`, () => {
    const plan = planNodes(observed(given))
    assert.deepEqual(
      plan.verdicts.map(({ portId, vm, reason, message }) => `${portId ?? vm} ${reason}: ${message}`),
      expected,
    )
  })

const gone = (n: number) => ({ delivered: [one], portChecks: detached(n) })
const left = (hasLeft: 'selector' | 'cluster'): Partial<Observed> => ({
  vms: [{ ...vm1, hasLeft }],
  delivered: [one],
  removalsApproved: true,
})
const edited = (more: Partial<DeliveredNode>) => [aNode([aNic(1, 0, { mtu: 1400 })], more)]
const withMtu = { ports: [aPort(1)], networks: new Map([['net-s', { id: 'net-s', name: 'net', mtu: 9000 }]]) }

const causes: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a new port': [{ ports: [aPort(1)] }, ['send worker-1', 'port port-1 becomes multinic0']],
  'a detached port': [gone(1), ['remove worker-1', 'multinic0 (port port-1) is removed: it was detached from the VM']],
  'a deleted VM': [
    { delivered: [one], portChecks: new Map([['port-1', 'deleted']]) },
    ['remove worker-1', 'multinic0 (port port-1) is removed: its VM was deleted'],
  ],
  'a VM that was taken out of vmNames': [
    { vms: [vm2], delivered: [one] },
    ['remove worker-1', 'multinic0 (port port-1) is removed: its VM is no longer in vmNames'],
  ],
  'a subnet that was taken out': [
    { subnets: [backup], ports: [aPort(1)], delivered: [one] },
    ['remove worker-1', 'multinic0 (port port-1) is removed: its subnet is no longer selected'],
  ],
  'a port that lost its address in the subnet': [
    {
      ports: [aPort(1, { addresses: [] })],
      delivered: [one],
      portChecks: new Map([['port-1', 'withoutSubnet']]),
    },
    ['remove worker-1', 'multinic0 (port port-1) is removed: the port has no address in a selected subnet'],
  ],
  'a subnet whose name was taken out': [
    {
      subnets: [backup],
      subnetNames: { backup: 'backup' },
      resolvedSubnets: { storage: 'storage' },
      ports: [aPort(1)],
      delivered: [one],
    },
    ['remove worker-1', 'multinic0 (port port-1) is removed: its subnet is no longer selected'],
  ],
  'a VM that vmSelector no longer selects': [
    left('selector'),
    ['remove worker-1', 'multinic0 (port port-1) is removed: its VM is no longer selected'],
  ],
  'a VM that left the cluster': [
    left('cluster'),
    ['remove worker-1', 'multinic0 (port port-1) is removed: its VM is no longer a Node of the cluster'],
  ],
  'an interface that another object takes over': [
    { vms: [vm2], delivered: [one], claims: [heir] },
    ['send worker-1', 'multinic0 is handed over to ns/heir'],
  ],
  'an interface of a subnet that another object selects': [
    { subnets: [backup], ports: [aPort(1)], delivered: [one], claims: [heir] },
    ['send worker-1', 'multinic0 is handed over to ns/heir'],
  ],
  'another MTU of the network': [
    { ...withMtu, delivered: edited({}) },
    ['send worker-1', 'the ports, subnets or networks changed'],
  ],
  'a node config that was edited by hand': [
    { ...withMtu, delivered: edited({ editedBy: 'kubectl-edit' }) },
    ['send worker-1', 'the node config was edited by hand (field manager kubectl-edit), and is delivered again'],
  ],
  'an edit by hand that changes nothing': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 0)], { editedBy: 'kubectl-edit' })] },
    ['keep worker-1'],
  ],
  'a delivery whose record was lost': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 0)], { isUnconfirmed: true })] },
    ['send worker-1', 'the record of the delivery was lost: delivered again with the indexes in the inventory'],
  ],
  'a renumbered interface': [
    {
      ports: [aPort(1)],
      delivered: [one],
      renumber: {
        nodeName: 'worker-1',
        portId: 'port-1',
        from: 'multinic0',
        to: 'multinic3',
        phase: 'Moving',
      } as never,
    },
    ['send worker-1', 'multinic0 (port port-1) becomes multinic3: renumbered'],
  ],
  'an empty node config that stays empty': [{ delivered: [aNode([])] }, []],
  'a node that another object has, next to the VM': [
    { ports: [], delivered: [aNode([aNic(1, 0, { source: 'ns/x' })])] },
    ['keep worker-1'],
  ],
  'a node of another object and another VM': [
    { delivered: [aNode([aNic(1, 0, { source: 'ns/x' })], { instanceId: 'vm-9', nodeName: 'other' })] },
    [],
  ],
}

for (const [name, [given, expected]] of Object.entries(causes))
  test(`cause: ${name}`, () => {
    const { nodes } = planNodes(observed(given))
    assert.deepEqual(
      nodes.flatMap(({ action, nodeName, why }) => [`${action} ${nodeName}`, ...why]),
      expected,
    )
  })

test('the deletion of an object names it, hands over what another one selects, and keeps nodes without its interfaces', () => {
  const nodes = [
    aNode([aNic(1, 0), aNic(2, 1, { subnetId: 'backup' })]),
    aNode([aNic(3, 0, { source: 'ns/x' })], { nodeName: 'other' }),
    aNode([], { nodeName: 'empty' }),
  ]
  const [plan, ...others] = planRelease(me, nodes, [heir])
  assert.deepEqual(others, [])
  assert.deepEqual(plan?.why, [
    'multinic0 is handed over to ns/heir',
    'multinic1 (port port-2) is removed: ns/main was deleted',
  ])
  assert.deepEqual(
    plan?.interfaces.map(({ portId, source }) => [portId, source]),
    [['port-1', 'ns/heir']],
  )
  assert.deepEqual([plan?.nodeName, plan?.instanceId, plan?.expectedSpecHash], ['worker-1', 'vm-1', 'delivered'])
})

test('a port that gets no index makes no node', () => {
  const claims = [{ ...heir, subnetIds: [], indexes: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }]
  assert.deepEqual(planNodes(observed({ ports: [aPort(1)], claims })).nodes, [])
  assert.deepEqual(planNodes(observed({ ports: [aPort(1)], claims, delivered: [aNode([])] })).nodes, [])
})

test('a node whose config is empty is based on that config', () => {
  const [node] = planNodes(observed({ ports: [aPort(1)], delivered: [aNode([], { specHash: 'empty' })] })).nodes
  assert.deepEqual([node?.action, node?.expectedSpecHash], ['send', 'empty'])
})

test('our interface is removed from a node that keeps one of another object', () => {
  const delivered = [aNode([aNic(1, 0), aNic(2, 1, { source: 'ns/x' })])]
  const [node] = planNodes(observed({ vms: [vm2], delivered })).nodes
  assert.deepEqual([node?.action, node?.interfaces.map(({ portId }) => portId)], ['send', ['port-2']])
})

test('a port that is attached during a move gets none of its indexes', () => {
  const renumber = { nodeName: 'worker-1', portId: 'port-1', from: 'multinic0', to: 'multinic1', phase: 'Moving' }
  const state = observed({ ports: [aPort(1), aPort(2)], delivered: [one], renumber: renumber as never })
  assert.deepEqual(
    planNodes(state).nodes[0]?.interfaces.map(({ index, portId }) => `${index}=${portId}`),
    ['1=port-1', '2=port-2'],
  )
})

test('a node config without an instance ID gets that of the VM with its name, and the verdict names this VM', () => {
  const { instanceId: _, ...unidentified } = one
  const plan = planNodes(observed({ ports: [aPort(1)], delivered: [unidentified] }))
  assert.deepEqual(
    plan.nodes.map(({ action, instanceId }) => [action, instanceId]),
    [['send', 'vm-1']],
  )
  assert.deepEqual(plan.verdicts, [
    { portId: 'port-1', vm: 'vm-1', reason: 'Selected', message: 'multinic0', name: 'multinic0' },
  ])
})

test('a node config whose VM is unknown is not sent again for that, and its verdict names the node', () => {
  const { instanceId: _, ...unidentified } = one
  const vms: Vm[] = [{ entry: 'worker-1', state: 'notFound' }]
  const plan = planNodes(observed({ vms, delivered: [unidentified] }))
  assert.deepEqual(
    plan.nodes.map(({ action, instanceId }) => [action, instanceId]),
    [['keep', '']],
  )
  assert.equal(plan.verdicts[0]?.vm, 'worker-1')
})

test('a verdict has the name of its VM, and that on a selected port its port security', () => {
  const portSecurity = { enabled: false, allowedAddressPairs: [] }
  const vms: Vm[] = [{ ...vm1, serverName: 'web\n1' }]
  const ports = [aPort(1, { portSecurity }), outside(2, { portSecurity })]
  assert.deepEqual(planNodes(observed({ vms, ports })).verdicts, [
    {
      ...{ portId: 'port-2', vm: 'vm-1', vmName: 'web 1', reason: 'NotSelected' },
      message: 'the port has no address in a selected subnet',
    },
    {
      portId: 'port-1',
      vm: 'vm-1',
      vmName: 'web 1',
      reason: 'Selected',
      message: 'multinic0',
      name: 'multinic0',
      portSecurity,
    },
  ])
})

test('a node has the name of its server, else the delivered one, and the name of its provider', () => {
  const delivered = [aNode([aNic(1, 0)], { instanceName: 'old', providerName: 'Seoul' })]
  const namesOf = (more: Partial<Observed>) => {
    const [node] = planNodes(observed({ ports: [aPort(1)], ...more })).nodes
    return [node?.instanceName, node?.providerName]
  }
  assert.deepEqual(namesOf({ vms: [{ ...vm1, serverName: 'new' }], delivered }), ['new', 'Seoul'])
  assert.deepEqual(namesOf({ delivered }), ['old', 'Seoul'])
  assert.deepEqual(namesOf({}), [undefined, undefined])
})

test('aliases are sent when they differ, with the generation that they belong to', () => {
  const aliasesOf = (delivered: DeliveredNode, subnets: SelectedSubnet[] = [storage0]) =>
    planNodes(observed({ subnets, ports: [aPort(1)], delivered: [delivered] })).nodes.map(({ action, once }) => [
      action,
      once,
    ])
  assert.deepEqual(aliasesOf(aNode([aNic(1, 0)], { generation: 7 })), [['keep', '7 multinic0=data']])
  assert.deepEqual(aliasesOf(aNode([aNic(1, 0, { alias: 'data' })])), [['keep', undefined]])
  const second = { ports: [aPort(1), aPort(2)], delivered: [aNode([aNic(1, 0), aNic(2, 1)])] }
  assert.equal(planNodes(observed({ subnets: [storage0], ...second })).nodes[0]?.once, '1 multinic0=data multinic1=')
  assert.deepEqual(aliasesOf(aNode([aNic(1, 0, { alias: 'data' })], { generation: 2 }), [storage]), [
    ['keep', '2 multinic0='],
  ])
})

test('ports that are DOWN are listed with their nodes, but not those of other objects', () => {
  const ports = [aPort(1, { status: 'down' }), aPort(2, { status: 'DOWN' }), aPort(3)]
  const delivered = [aNode([aNic(1, 0), aNic(2, 1, { source: 'ns/x' }), aNic(3, 2)])]
  const claims = [{ ...heir, source: 'ns/x' }]
  assert.deepEqual(planNodes(observed({ ports, delivered, claims })).down, [{ nodeName: 'worker-1', portId: 'port-1' }])
})

test('ports that may be ready within seconds are waited for', () => {
  const ports = [aPort(1, { owner: '' }), aPort(2, { status: 'BUILD' }), outside(3), aPort(4)]
  assert.deepEqual(planNodes(observed({ ports })).waiting, ['port-1', 'port-2'])
})

test('a missing port is asked for by its MAC address if its ID is unknown', () => {
  const { portId: _, ...nic } = aNic(1, 0)
  const { missingPorts } = planNodes(observed({ delivered: [aNode([nic])] }))
  assert.deepEqual(missingPorts, [{ vmId: 'vm-1', macAddress: nic.macAddress }])
  assert.deepEqual(planNodes(observed({ delivered: [one] })).missingPorts, [
    { vmId: 'vm-1', macAddress: nic.macAddress, portId: 'port-1' },
  ])
})
