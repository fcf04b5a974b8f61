/** Subnets with an index: one name of an interface means one network on every node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Observed, SelectedSubnet } from '../plan/observed-state.ts'
import { aNic, aNode, aPort, backup, observed, planText, storage } from '../plan/plan.fixture.ts'
import { planNodes } from '../plan/plan.ts'

const storage0 = { ...storage, index: 0 }
const backup1 = { ...backup, index: 1 }
const subnets = [storage0, backup1]
const other = { ...storage, id: 'other', name: 'other', cidr: '10.3.0.0/24', networkId: 'net-o' }
const backupNic = (n: number, index: number) =>
  aNic(n, index, { subnetId: 'backup', networkId: 'net-b', cidr: '10.2.0.0/24', address: `10.2.0.${n}` })

const cases: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a port gets the index of its subnet, and not the lowest free one': [
    { ports: [aPort(1, { subnet: backup })] },
    ['send worker-1 1=port-1'],
  ],
  'of two ports of a subnet the first gets the index, the other an index that no subnet has': [
    { ports: [aPort(2), aPort(1)] },
    ['send worker-1 0=port-1 2=port-2'],
  ],
  'a second port that is attached later gets an index that no subnet has': [
    { ports: [aPort(2), aPort(1)], delivered: [aNode([aNic(2, 0)])] },
    ['send worker-1 0=port-2 2=port-1'],
  ],
  'a port of a subnet without an index gets an index that no subnet has': [
    { subnets: [other, ...subnets], ports: [aPort(1, { subnet: other }), aPort(2)] },
    ['send worker-1 0=port-2 2=port-1'],
  ],
  'an index that another object gives its subnet on this VM stays free': [
    {
      subnets: [storage],
      ports: [aPort(1)],
      claims: [{ source: 'ns/other', vmIds: ['vm-1'], subnetIds: ['other'], indexes: [0] }],
    },
    ['send worker-1 1=port-1'],
  ],
  'an index that another object gives its subnet on other VMs does not matter': [
    {
      subnets: [storage],
      ports: [aPort(1)],
      claims: [{ source: 'ns/other', vmIds: ['vm-2'], subnetIds: ['other'], indexes: [0] }],
    },
    ['send worker-1 0=port-1'],
  ],
  'an index that a port of another subnet has is refused': [
    { ports: [aPort(1), aPort(2, { subnet: backup })], delivered: [aNode([backupNic(2, 0)])] },
    ['port-1 IndexInUse'],
  ],
  'an index that a port of another object has is refused': [
    { ports: [aPort(1)], delivered: [aNode([aNic(9, 0, { source: 'ns/other', subnetId: 'other' })])] },
    ['port-1 IndexInUse'],
  ],
  'a port with addresses in subnets of one index gets it': [
    {
      subnets: [
        { ...storage, index: 3 },
        { ...backup, networkId: 'net-s', index: 3 },
      ],
      ports: [aPort(1, { addresses: bothAddresses() })],
    },
    ['send worker-1 3=port-1'],
  ],
  'a port with addresses in a subnet with an index and in one without gets the index': [
    {
      subnets: [
        { ...storage, index: 3 },
        { ...backup, networkId: 'net-s' },
      ],
      ports: [aPort(1, { addresses: bothAddresses() })],
    },
    ['send worker-1 3=port-1'],
  ],
  'a port with addresses in subnets of different indexes is refused': [
    { subnets: [storage0, { ...backup1, networkId: 'net-s' }], ports: [aPort(1, { addresses: bothAddresses() })] },
    ['port-1 IndexConflict'],
  ],
  'a delivered port whose subnets get different indexes stays': [
    {
      subnets: [storage0, { ...backup1, networkId: 'net-s' }],
      ports: [aPort(1, { addresses: bothAddresses() })],
      delivered: [aNode([aNic(1, 5, { addresses: ['10.1.0.1/24', '10.2.0.1/24'] })])],
    },
    [],
  ],
  'a delivered port keeps its index when its subnet gets an index': [
    { ports: [aPort(1)], delivered: [aNode([aNic(1, 4)])] },
    [],
  ],
  'indexes that subnets have are not given to others, even if nothing else is left': [
    {
      subnets: [storage0, backup1, ...Array.from({ length: 8 }, (_, n) => ({ ...other, id: `o${n}`, index: n + 2 }))],
      ports: [aPort(1), aPort(2)],
    },
    ['send worker-1 0=port-1', 'port-2 LimitReached'],
  ],
}
for (const [name, [given, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(planText(planNodes(observed({ subnets, ...given }))), expected))

function bothAddresses(): { subnetId: string; address: string }[] {
  return [
    { subnetId: 'storage', address: '10.1.0.1' },
    { subnetId: 'backup', address: '10.2.0.1' },
  ]
}

function movesIn(given: Partial<Observed>): string[] {
  return planNodes(observed({ subnets, ...given })).moves.map(({ nodeName, from, to }) => `${nodeName} ${from} ${to}`)
}

test('the plan lists the move of a port whose subnet has another index', () => {
  const ports = [aPort(1), aPort(2, { subnet: backup })]
  assert.deepEqual(movesIn({ ports, delivered: [aNode([aNic(1, 4), backupNic(2, 1)])] }), [
    'worker-1 multinic4 multinic0',
  ])
  assert.deepEqual(movesIn({ ports, delivered: [aNode([aNic(1, 1), backupNic(2, 0)])] }), [
    'worker-1 multinic0 multinic1',
    'worker-1 multinic1 multinic0',
  ])
})

test('of several ports of a subnet, none moves if one has its index, and otherwise the oldest', () => {
  const ports = [aPort(1), aPort(2)]
  assert.deepEqual(movesIn({ ports, delivered: [aNode([aNic(1, 4), aNic(2, 0)])] }), [])
  assert.deepEqual(movesIn({ ports, delivered: [aNode([aNic(1, 4), aNic(2, 3)])] }), ['worker-1 multinic4 multinic0'])
})

test('in every order of attaching, an index is never given to two networks, and never changes', () => {
  const anAttach = fc.record({ subnet: fc.constantFrom(storage, backup, other), n: fc.integer({ min: 1, max: 30 }) })
  const steps = fc.uniqueArray(fc.array(anAttach, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(steps, batches => {
      const all: SelectedSubnet[] = [storage0, backup1, other]
      const names = new Map<string, number>()
      let node = aNode([])
      const ports = new Map<string, ReturnType<typeof aPort>>()
      for (const batch of batches) {
        for (const { subnet, n } of batch) ports.set(`port-${n}`, ports.get(`port-${n}`) ?? aPort(n, { subnet }))
        const given = observed({ subnets: all, ports: [...ports.values()], delivered: [node] })
        const [planned] = planNodes(given).nodes
        for (const nic of planned?.interfaces ?? []) {
          assert.equal(names.get(nic.portId ?? '') ?? nic.index, nic.index)
          names.set(nic.portId ?? '', nic.index)
          const owner = all.find(({ index }) => index === nic.index)
          if (owner) assert.equal(nic.subnetId, owner.id)
        }
        node = aNode(planned?.interfaces ?? [])
      }
    }),
  )
})
