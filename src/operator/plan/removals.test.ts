/** When a delivered interface stays, is checked again, is removed, or is removed only after approval. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observed } from './observed-state.ts'
import { aNic, aNode, aPort, backup, detached, observed, one, planText, vm1, vm2 } from './plan.fixture.ts'
import { planNodes } from './plan.ts'

const five = aNode([1, 2, 3, 4, 5].map((n, index) => aNic(n, index)))
const removal = (n: number) => `worker-1 multinic${n - 1} (port port-${n})`
/** The plan for an interface whose port is checked again. */
const unlisted = ['port-1 RemovalUnconfirmed', 'check port-1 of vm-1']
const hundred = (end: string) => Array.from({ length: 100 }, (_, n) => `other ${n}${end}`)
const vmDeselected = 'its VM is no longer in vmNames'
const onHold = (n: number) => `hold ${removal(n)}`

/** vm-1 was delivered by the name worker-1, which now means vm-9. */
const reused: Partial<Observed> = {
  vms: [{ entry: 'worker-1', id: 'vm-9', state: 'found', name: 'worker-1' }],
  resolvedNames: { 'worker-1': 'vm-1' },
  delivered: [one],
  deletedVms: new Map([['vm-1', false]]),
}

/** The interface was delivered by the name storage, which now means the subnet backup. */
const renamedSubnet: Partial<Observed> = {
  subnets: [backup],
  subnetNames: { storage: 'backup' },
  resolvedSubnets: { storage: 'storage' },
  ports: [aPort(1)],
  delivered: [one],
}

const withoutSubnet = (...ns: number[]) => new Map(ns.map(n => [`port-${n}`, 'withoutSubnet' as const]))

/** Two nodes with this many interfaces together. */
const fleet = (count: number) => [
  aNode(Array.from({ length: 8 }, (_, n) => aNic(n + 1, n))),
  aNode(
    Array.from({ length: count - 8 }, (_, n) => aNic(n + 9, n)),
    { nodeName: 'worker-2', instanceId: 'vm-2' },
  ),
]
const fleetPorts = (count: number, ...missing: number[]) =>
  Array.from({ length: count }, (_, n) => aPort(n + 1, { serverId: n < 8 ? 'vm-1' : 'vm-2' })).filter(
    (_, n) => !missing.includes(n + 1),
  )
const ofOthers = aNode(
  Array.from({ length: 10 }, (_, n) => aNic(n + 20, n, { source: 'ns/x' })),
  { nodeName: 'worker-2', instanceId: 'vm-2' },
)
const other = { source: 'ns/x', vmIds: [], subnetIds: [], indexes: [] }
const heir = { source: 'ns/heir', vmIds: ['vm-1'], subnetIds: ['storage'], indexes: [] }

const cases: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a delivered port that is BUILD, old and without owner stays': [
    { ports: [aPort(1, { status: 'BUILD', createdAt: '2001-01-01T00:00:00Z', owner: '' })], delivered: [one] },
    [],
  ],
  'a port that is missing from the list is only checked': [{ delivered: [one] }, unlisted],
  'a port that the cloud confirms as detached is removed, and the node with the last one': [
    { delivered: [one], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'a port that Nova still lists stays': [
    { delivered: [one], portChecks: new Map([['port-1', 'attached']]) },
    ['port-1 RemovalUnconfirmed'],
  ],
  'a port that is on another VM now is first checked on the old one': [
    { vms: [vm1, vm2], ports: [aPort(1, { serverId: 'vm-2' })], delivered: [one] },
    unlisted,
  ],
  'a port that moved is removed from its old node before the new one gets it': [
    { vms: [vm1, vm2], ports: [aPort(1, { serverId: 'vm-2' })], delivered: [one], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'two of five that disappear at once are removed': [
    { ports: [aPort(3), aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2) },
    ['send worker-1 2=port-3 3=port-4 4=port-5'],
  ],
  'three of five that disappear at once are put on hold': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2, 3) },
    [onHold(1), onHold(2), onHold(3)],
  ],
  'two that disappear while a third cannot be checked are put on hold': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2) },
    ['port-3 RemovalUnconfirmed', 'check port-3 of vm-1', onHold(1), onHold(2)],
  ],
  'a removal on hold stays on hold when the others return': [
    {
      ports: [aPort(2), aPort(3), aPort(4), aPort(5)],
      delivered: [five],
      portChecks: detached(1),
      removalsOnHold: [removal(1)],
    },
    [onHold(1)],
  ],
  'a port that returns is no longer on hold': [
    { ports: [1, 2, 3, 4, 5].map(n => aPort(n)), delivered: [five], removalsOnHold: [removal(1)] },
    [],
  ],
  'approved removals are done': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2, 3), removalsApproved: true },
    ['send worker-1 3=port-4 4=port-5'],
  ],
  'a removal beside others on hold is done': [
    {
      ports: [aPort(3), aPort(4), aPort(5)],
      delivered: [five],
      portChecks: detached(1, 2),
      removalsOnHold: [removal(1)],
    },
    ['send worker-1 0=port-1 2=port-3 3=port-4 4=port-5', onHold(1)],
  ],
  'all ports of a VM whose deletion Nova recorded are removed at once': [
    { delivered: [five], portChecks: new Map([1, 2, 3, 4, 5].map(n => [`port-${n}`, 'deleted'])) },
    ['remove worker-1'],
  ],
  'operator 7: a name in vmNames that now means another server: Nova is asked about the old one': [
    { ...reused, deletedVms: new Map() },
    ['vm-9 VmNameNotUnique', 'check vm-1'],
  ],
  'operator 7: a name in vmNames that now means another server removes nothing while the old one exists': [
    reused,
    ['vm-9 VmNameNotUnique', `${onHold(1)}: worker-1 in vmNames now means server vm-9`],
  ],
  'operator 7: a name in vmNames that now means another server, approved': [
    { ...reused, removalsApproved: true },
    ['remove worker-1', 'vm-9 VmNameNotUnique'],
  ],
  'operator 7: a name in vmNames that now means another server, and Nova recorded the deletion of the old one': [
    { ...reused, deletedVms: new Map([['vm-1', true]]) },
    ['remove worker-1', 'vm-9 VmNameNotUnique'],
  ],
  'a name in vmNames without a server keeps the VM that it meant': [
    { vms: [{ entry: 'worker-1', state: 'notFound' }], resolvedNames: { 'worker-1': 'vm-1' }, delivered: [one] },
    ['port-1 RemovalUnconfirmed', 'worker-1 VmNotFound', 'check port-1 of vm-1'],
  ],
  'operator 15b: a wrong entry of vmNames does not silently keep a VM that was taken out': [
    { vms: [{ entry: 'typo', state: 'notFound' }], delivered: [one], deletedVms: new Map([['vm-1', false]]) },
    ['typo VmNotFound', `${onHold(1)}: typo in vmNames matches no server`],
  ],
  'operator 15b: a name without a server does not keep another VM than the one that it meant': [
    { vms: [{ entry: 'other', state: 'notFound' }], resolvedNames: { other: 'vm-3' }, delivered: [one] },
    ['remove worker-1', 'other VmNotFound'],
  ],
  'when the user removes a subnet, all its ports are removed': [
    { subnets: [backup], ports: [1, 2, 3, 4, 5].map(n => aPort(n)), delivered: [five] },
    ['remove worker-1'],
  ],
  'when the user removes a VM, all its interfaces are removed': [
    { vms: [vm2], delivered: [five] },
    ['remove worker-1'],
  ],
  'three of fourteen that disappear at once are put on hold': [
    { vms: [vm1, vm2], ports: fleetPorts(14, 1, 2, 3), delivered: fleet(14), portChecks: detached(1, 2, 3) },
    [onHold(1), onHold(2), onHold(3)],
  ],
  'three of fifteen, a fifth, are removed': [
    { vms: [vm1, vm2], ports: fleetPorts(15, 1, 2, 3), delivered: fleet(15), portChecks: detached(1, 2, 3) },
    ['send worker-1 3=port-4 4=port-5 5=port-6 6=port-7 7=port-8'],
  ],
  'interfaces of other objects do not count': [
    {
      vms: [vm1, vm2],
      ports: [aPort(4), aPort(5)],
      delivered: [five, ofOthers, { ...ofOthers, nodeName: 'worker-3', instanceId: 'vm-3' }],
      portChecks: detached(1, 2, 3),
      claims: [other],
    },
    [onHold(1), onHold(2), onHold(3)],
  ],
  'two that disappear while the VM of a third cannot be checked are put on hold': [
    {
      vms: [vm2, ...(reused.vms ?? [])],
      resolvedNames: { 'worker-1': 'vm-1' },
      delivered: [one, aNode([aNic(2, 0), aNic(3, 1)], { nodeName: 'worker-2', instanceId: 'vm-2' })],
      portChecks: detached(2, 3),
    },
    [
      'vm-9 VmNameNotUnique',
      'check vm-1',
      'hold worker-2 multinic0 (port port-2)',
      'hold worker-2 multinic1 (port port-3)',
    ],
  ],
  'while the status lists as many removals on hold as it can, every other one is put on hold too': [
    { delivered: [one], portChecks: detached(1), removalsOnHold: hundred('') },
    [onHold(1)],
  ],
  'with one less, others are removed': [
    { delivered: [one], portChecks: detached(1), removalsOnHold: hundred('').slice(1) },
    ['remove worker-1'],
  ],
  'a port without an address in a selected subnet stays, and is checked': [
    { ports: [aPort(1, { addresses: [] })], delivered: [one] },
    unlisted,
  ],
  'a port without an address in a selected subnet, as a second answer says too, is removed': [
    { ports: [aPort(1, { addresses: [] })], delivered: [one], portChecks: withoutSubnet(1) },
    ['remove worker-1'],
  ],
  'a port without an address in a selected subnet stays if Nova lists one': [
    { ports: [aPort(1, { addresses: [] })], delivered: [one], portChecks: new Map([['port-1', 'attached']]) },
    ['port-1 RemovalUnconfirmed'],
  ],
  'many ports that lose their addresses at once are put on hold': [
    {
      ports: [1, 2, 3, 4, 5].map(n => aPort(n, { addresses: [] })),
      delivered: [five],
      portChecks: withoutSubnet(1, 2, 3, 4, 5),
    },
    [...[1, 2, 3, 4, 5].map(onHold)],
  ],
  'a port that is detached beside two without an address yet is removed': [
    {
      ports: [aPort(2, { addresses: [] }), aPort(3, { addresses: [] }), aPort(4), aPort(5)],
      delivered: [five],
      portChecks: detached(1),
    },
    [
      'send worker-1 1=port-2 2=port-3 3=port-4 4=port-5',
      ...[2, 3].map(n => `port-${n} RemovalUnconfirmed`),
      ...[2, 3].map(n => `check port-${n} of vm-1`),
    ],
  ],
  'a subnet name that now means another subnet removes nothing': [
    renamedSubnet,
    ['port-1 SubnetNameReused', `${onHold(1)}: storage in subnets now means subnet backup`],
  ],
  'a subnet name that now means another subnet, approved': [
    { ...renamedSubnet, removalsApproved: true },
    ['remove worker-1'],
  ],
  'a subnet name that now means another subnet, and the port was detached': [
    { ...renamedSubnet, ports: [], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'a subnet whose name the user replaced by another is removed': [
    { ...renamedSubnet, subnetNames: { backup: 'backup' } },
    ['remove worker-1'],
  ],
  'a subnet of which no name is known is only checked': [{ ...renamedSubnet, resolvedSubnets: {} }, unlisted],
  'a VM with many interfaces that vmSelector no longer selects is put on hold': [
    { vms: [{ ...vm1, hasLeft: 'selector' }], delivered: [five] },
    [1, 2, 3, 4, 5].map(onHold),
  ],
  'a VM that left the cluster is put on hold, also with one interface, and its new ports are ignored': [
    { vms: [{ ...vm1, hasLeft: 'cluster' }], ports: [aPort(2)], delivered: [one] },
    [`${onHold(1)}: its VM is no longer a Node of the cluster`],
  ],
  'an interface of a VM that left is handed over to the first object that selects it': [
    {
      vms: [{ ...vm1, hasLeft: 'cluster' }],
      delivered: [one],
      claims: [{ ...heir, source: 'ns/a', subnetIds: ['x'] }, heir, { ...heir, source: 'ns/b', subnetIds: ['x'] }],
    },
    ['send worker-1 0=port-1'],
  ],
  'a port whose MAC address changed is found by its ID': [
    { ports: [aPort(1, { macAddress: 'fa:16:3e:00:00:99' })], delivered: [one] },
    ['send worker-1 0=port-1'],
  ],
  'a node config without an instance ID belongs to the VM with its name in any case': [
    { vms: [{ ...vm1, name: 'Worker-1' }], ports: [aPort(1)], delivered: [aNode([aNic(1, 0)], { instanceId: '' })] },
    ['send worker-1 0=port-1'],
  ],
  'a node config without an instance ID whose name no VM has is removed': [
    { vms: [vm2], delivered: [aNode([aNic(1, 0)], { instanceId: '' })] },
    ['remove worker-1'],
  ],
  'a node config without an instance ID whose name two VMs have belongs to neither': [
    {
      vms: [vm1, { ...vm2, name: 'worker-1' }],
      ports: [aPort(1)],
      delivered: [aNode([aNic(1, 0, { source: 'ns/deleted' })], { instanceId: '' })],
    },
    ['port-1 SelectedByOther', 'vm-1 VmNameNotUnique', 'vm-2 VmNameNotUnique'],
  ],
  'a node config without an instance ID is kept while a name has no server': [
    { vms: [{ entry: 'worker-1', state: 'notFound' }], delivered: [aNode([aNic(1, 0)], { instanceId: '' })] },
    ['port-1 RemovalUnconfirmed', 'worker-1 VmNotFound', 'check port-1 of '],
  ],
  'of two names that meant the same server, the first one counts': [
    {
      ...reused,
      vms: [
        { entry: 'a', id: 'vm-8', state: 'found', name: 'a' },
        { entry: 'b', id: 'vm-9', state: 'found', name: 'b' },
      ],
      resolvedNames: { a: 'vm-1', b: 'vm-1' },
    },
    [`${onHold(1)}: a in vmNames now means server vm-8`],
  ],
  'what a new object does not select is put on hold: a VM': [
    { isNew: true, vms: [vm2], delivered: [one] },
    [`${onHold(1)}: ${vmDeselected}`],
  ],
  'what a new object does not select is put on hold: a subnet': [
    { isNew: true, subnets: [backup], ports: [aPort(1)], delivered: [one] },
    [`${onHold(1)}: its subnet is no longer selected`],
  ],
  'what a new object does not select is put on hold: a subnet by name': [
    { isNew: true, ...renamedSubnet, resolvedSubnets: {}, portChecks: withoutSubnet(1) },
    [onHold(1)],
  ],
  'what a new object does not select is put on hold: one interface of a VM that vmSelector does not select': [
    { isNew: true, vms: [{ ...vm1, hasLeft: 'selector' }], delivered: [one] },
    [onHold(1)],
  ],
  'a new object removes a port that the cloud confirms as detached': [
    { isNew: true, delivered: [one], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'a new object removes a VM whose deletion Nova recorded': [
    { isNew: true, delivered: [five], portChecks: new Map([1, 2, 3, 4, 5].map(n => [`port-${n}`, 'deleted'])) },
    ['remove worker-1'],
  ],
  'what a new object put on hold stays on hold, and an edit beside it removes': [
    {
      vms: [],
      delivered: [one, aNode([aNic(2, 0)], { nodeName: 'worker-2', instanceId: 'vm-2' })],
      removalsOnHold: [`${removal(1)}: ${vmDeselected}`],
    },
    ['remove worker-2', `${onHold(1)}: ${vmDeselected}`],
  ],
  'what a new object put on hold stays on hold although the status lists only some of it': [
    { vms: [vm2], delivered: [one], removalsOnHold: hundred(`: ${vmDeselected}`) },
    [`${onHold(1)}: ${vmDeselected}`],
  ],
  'an edit removes while the status lists only others': [
    { vms: [vm2], delivered: [one], removalsOnHold: hundred('') },
    ['remove worker-1'],
  ],
  'a VM whose name cannot be resolved keeps its interfaces': [
    { vms: [{ entry: 'worker-1', state: 'unknown' }], delivered: [one] },
    unlisted,
  ],
}

for (const [name, [given, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(planText(planNodes(observed(given))), expected))
