import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Interface } from '../contract/interfaces.ts'
import type { HeldNode, Observed, Port, Subnet, VmFact } from './observed-state.ts'
import { type Plan, planNodes, planRelease } from './plan.ts'

const storage: Subnet = { id: 'storage', name: 'storage', networkId: 'net-s', cidr: '10.1.0.0/24', routes: [] }
const backup: Subnet = { id: 'backup', name: 'backup', networkId: 'net-b', cidr: '10.2.0.0/24', routes: [] }
const baseline = Date.parse('2026-11-15T01:00:00Z')
const me = 'ns/main'

/** Port `n` has address .n, a MAC that ends in n, and was created n minutes after the baseline. */
function aPort(n: number, more: Partial<Port> & { subnet?: Subnet } = {}): Port {
  const { subnet = storage, ...rest } = more
  const address = subnet.cidr.replace('0/24', String(n))
  return {
    id: `port-${n}`,
    networkId: subnet.networkId,
    macAddress: `fa:16:3e:00:00:${n.toString(16).padStart(2, '0')}`,
    status: 'ACTIVE',
    deviceId: 'vm-1',
    deviceOwner: 'compute:nova',
    fixedIps: [{ subnetId: subnet.id, address }],
    createdAt: new Date(baseline + n * 60_000).toISOString(),
    ...rest,
  }
}

function aNic(n: number, id: number, more: Partial<Interface> = {}): Interface {
  const { macAddress, networkId } = aPort(n)
  return {
    index: id,
    name: `multinic${id}`,
    portId: `port-${n}`,
    macAddress,
    address: `10.1.0.${n}`,
    cidr: '10.1.0.0/24',
    networkId,
    subnetId: 'storage',
    source: me,
    ...more,
  }
}

function held(interfaces: Interface[], more: Partial<HeldNode> = {}): HeldNode {
  return { nodeName: 'worker-1', instanceId: 'vm-1', specHash: 'held', generation: 1, interfaces, ...more }
}

const vm1: VmFact = { entry: 'vm-1', id: 'vm-1', state: 'known', name: 'worker-1' }
const vm2: VmFact = { entry: 'vm-2', id: 'vm-2', state: 'known', name: 'worker-2' }

function observed(more: Partial<Observed> = {}): Observed {
  return {
    source: me,
    rules: { allowedStatuses: ['ACTIVE', 'DOWN'], owners: ['compute:*'], baseline },
    subnets: [storage, backup],
    subnetsById: true,
    mtus: new Map(),
    vms: [vm1],
    ports: [],
    held: [],
    answers: new Map(),
    claims: [],
    release: false,
    holding: false,
    ...more,
  }
}

/** A plan in the words of a person. */
function words({ nodes, verdicts, questions, heldRemovals }: Plan): string[] {
  return [
    ...nodes
      .filter(({ action }) => action !== 'keep')
      .map(({ action, nodeName, interfaces }) =>
        [action, nodeName, ...interfaces.map(nic => `${nic.index}=${nic.portId}`)].join(' '),
      ),
    ...verdicts
      .filter(({ reason }) => reason !== 'Selected')
      .map(({ portId, vm, reason }) => `${portId ?? vm} ${reason}`),
    ...questions.map(({ portId, vmId }) => `ask ${portId} of ${vmId}`),
    ...heldRemovals.map(({ node, nic }) => `hold ${node} ${nic.portId}`),
  ]
}

const one = held([aNic(1, 0)])
const five = held([1, 2, 3, 4, 5].map((n, id) => aNic(n, id)))
const gone = (...ns: number[]) => new Map(ns.map(n => [`port-${n}`, 'detached' as const]))

const cases: Record<string, [given: Partial<Observed>, said: string[]]> = {
  'a new port becomes the lowest number': [{ ports: [aPort(1)] }, ['send worker-1 0=port-1']],
  'new ports are numbered by the order of subnets, then age, then MAC': [
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
  'what is delivered is left alone': [{ ports: [aPort(1)], held: [one] }, []],
  'a lower MAC attached later does not renumber': [
    { ports: [aPort(5), aPort(1)], held: [held([aNic(5, 0)])] },
    ['send worker-1 0=port-5 1=port-1'],
  ],
  'a removal leaves a hole, and the next port takes it': [
    { ports: [aPort(2), aPort(9)], held: [held([aNic(1, 0), aNic(2, 1)])], answers: gone(1) },
    ['send worker-1 0=port-9 1=port-2'],
  ],
  'the eleventh port is told that there are ten': [
    { ports: Array.from({ length: 11 }, (_, n) => aPort(n + 1)) },
    [
      'send worker-1 0=port-1 1=port-2 2=port-3 3=port-4 4=port-5 5=port-6 6=port-7 7=port-8 8=port-9 9=port-10',
      'port-11 LimitReached',
    ],
  ],

  'a port of another status is not taken': [{ ports: [aPort(1, { status: 'BUILD' })] }, ['port-1 StatusNotAllowed']],
  'statuses are compared in upper case, and an empty one passes': [
    { ports: [aPort(1, { status: 'active' }), aPort(2, { status: '' })] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a star takes every status': [
    { ports: [aPort(1, { status: 'BUILD' })], rules: { allowedStatuses: ['*'], owners: ['compute:*'] } },
    ['send worker-1 0=port-1'],
  ],
  'a port of another owner with our device id is foreign': [
    { ports: [aPort(1, { deviceOwner: 'network:dhcp' })] },
    ['port-1 DeviceOwnerNotAllowed'],
  ],
  'a port without owner is not attached yet': [{ ports: [aPort(1, { deviceOwner: '' })] }, ['port-1 PortNotBound']],
  'a port from before the baseline is left alone, with five minutes for the clocks': [
    { ports: [aPort(1, { createdAt: '2026-11-15T00:54:59Z' }), aPort(2, { createdAt: '2026-11-15T00:55:01' })] },
    ['send worker-1 0=port-2', 'port-1 BeforeBaseline'],
  ],
  'a port that does not say its age is left alone where age counts': [
    { ports: [aPort(1, { createdAt: '' })] },
    ['port-1 BeforeBaseline'],
  ],
  'without a baseline every age is good': [
    {
      ports: [aPort(1, { createdAt: '2001-01-01T00:00:00Z' })],
      rules: { allowedStatuses: ['*'], owners: ['compute:*'] },
    },
    ['send worker-1 0=port-1'],
  ],
  'a port without an address in a chosen subnet is not taken': [
    { ports: [aPort(1, { fixedIps: [{ subnetId: 'elsewhere', address: '10.9.0.1' }] })] },
    ['port-1 NoAddress'],
  ],
  'a port of another network than its subnet is not taken': [
    { ports: [aPort(1, { networkId: 'net-x' })] },
    ['port-1 NetworkMismatch'],
  ],

  'a delivered port that turns BUILD, old and ownerless stays': [
    { ports: [aPort(1, { status: 'BUILD', createdAt: '2001-01-01T00:00:00Z', deviceOwner: '' })], held: [one] },
    [],
  ],
  'a port that the listing does not show is only a question': [{ held: [one] }, ['ask port-1 of vm-1']],
  'a port that the cloud confirms as detached goes, and with the last one the node': [
    { held: [one], answers: gone(1) },
    ['remove worker-1'],
  ],
  'a port that Nova still shows stays': [{ held: [one], answers: new Map([['port-1', 'attached']]) }, []],
  'a port that now is on another VM is first asked about on its old one': [
    { vms: [vm1, vm2], ports: [aPort(1, { deviceId: 'vm-2' })], held: [one] },
    ['ask port-1 of vm-1'],
  ],
  'a port that moved leaves its old node before it comes to the new one': [
    { vms: [vm1, vm2], ports: [aPort(1, { deviceId: 'vm-2' })], held: [one], answers: gone(1) },
    ['remove worker-1'],
  ],
  'two of five that vanish at once go': [
    { ports: [aPort(3), aPort(4), aPort(5)], held: [five], answers: gone(1, 2) },
    ['send worker-1 2=port-3 3=port-4 4=port-5'],
  ],
  'three of five that vanish at once are held': [
    { ports: [aPort(4), aPort(5)], held: [five], answers: gone(1, 2, 3) },
    ['hold worker-1 port-1', 'hold worker-1 port-2', 'hold worker-1 port-3'],
  ],
  'two that vanish while a third cannot be asked about are held': [
    { ports: [aPort(4), aPort(5)], held: [five], answers: gone(1, 2) },
    ['ask port-3 of vm-1', 'hold worker-1 port-1', 'hold worker-1 port-2'],
  ],
  'what is held stays held, however few it has become': [
    { ports: [aPort(2), aPort(3), aPort(4), aPort(5)], held: [five], answers: gone(1), holding: true },
    ['hold worker-1 port-1'],
  ],
  'a port that comes back is no longer held': [
    { ports: [1, 2, 3, 4, 5].map(n => aPort(n)), held: [five], holding: true },
    [],
  ],
  'a person lets held removals go': [
    { ports: [aPort(4), aPort(5)], held: [five], answers: gone(1, 2, 3), release: true },
    ['send worker-1 3=port-4 4=port-5'],
  ],
  'a subnet that the user takes out takes its ports along, however many': [
    { subnets: [backup], ports: [1, 2, 3, 4, 5].map(n => aPort(n)), held: [five] },
    ['remove worker-1'],
  ],
  'a VM that the user takes out loses its interfaces, however many': [
    { vms: [vm2], held: [five] },
    ['remove worker-1'],
  ],
  'a VM that is named by a name which Nova cannot resolve keeps everything': [
    { vms: [{ entry: 'worker-1', state: 'unknown' }], held: [one] },
    ['ask port-1 of vm-1'],
  ],
  'a port made anew with the same MAC keeps the number': [
    { ports: [aPort(1, { id: 'port-new' })], held: [one] },
    ['send worker-1 0=port-new'],
  ],

  'an interface of another object on the same node stays as it is': [
    {
      ports: [aPort(1), aPort(2)],
      held: [held([aNic(1, 0, { source: 'ns/other', mtu: 1400 })])],
      claims: [{ source: 'ns/other', vmIds: ['vm-1'], subnetIds: [] }],
    },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'an interface whose object is gone goes to the one that wants it': [
    { ports: [aPort(1)], held: [held([aNic(1, 0, { source: 'ns/deleted' })])] },
    ['send worker-1 0=port-1'],
  ],
  'what the user lets go and another object wants changes hands': [
    { vms: [vm2], held: [one], claims: [{ source: 'ns/heir', vmIds: ['vm-1'], subnetIds: ['storage'] }] },
    ['send worker-1 0=port-1'],
  ],
  'an interface without source or port id, as older operators left it, keeps its number by its MAC': [
    {
      ports: [aPort(1), aPort(2)],
      held: [
        held([
          { index: 4, name: 'multinic4', macAddress: aPort(2).macAddress, address: '10.1.0.2', cidr: '10.1.0.0/24' },
        ]),
      ],
    },
    ['send worker-1 0=port-1 4=port-2'],
  ],

  'a port that moved to another VM goes, and is told where it is': [
    { ports: [aPort(1, { deviceId: 'vm-9' })], held: [one], answers: gone(1) },
    ['remove worker-1', 'port-1 VmNotSelected'],
  ],
  'a port that Neutron shows elsewhere and Nova still here stays': [
    { ports: [aPort(1, { deviceId: 'vm-9' })], held: [one], answers: new Map([['port-1', 'attached']]) },
    [],
  ],

  'a VM that was never named waits': [
    { vms: [{ ...vm1, state: 'unknown', name: undefined } as unknown as VmFact], ports: [aPort(1)] },
    ['port-1 NameUnknown', 'vm-1 NameUnknown'],
  ],
  'a VM that was named keeps its node when Nova fails': [
    { vms: [{ entry: 'vm-1', id: 'vm-1', state: 'unknown' }], ports: [aPort(1), aPort(2)], held: [one] },
    ['send worker-1 0=port-1 1=port-2'],
  ],
  'a server that is renamed keeps its node': [
    { vms: [{ ...vm1, name: 'renamed' }], ports: [aPort(1), aPort(2)], held: [one] },
    ['send worker-1 0=port-1 1=port-2', 'vm-1 NameChanged'],
  ],
  'a VM that is gone is a verdict': [{ vms: [{ entry: 'vm-1', id: 'vm-1', state: 'gone' }] }, ['vm-1 VmNotFound']],
  'a name that several servers have is a verdict': [{ vms: [{ entry: 'w', state: 'notUnique' }] }, ['w VmNotUnique']],
  'two VMs with one name are both refused, and the third is served': [
    {
      vms: [vm1, { ...vm2, name: 'Worker-1' }, { entry: 'vm-3', id: 'vm-3', state: 'known', name: 'worker-3' }],
      ports: [aPort(1), aPort(2, { deviceId: 'vm-2' }), aPort(3, { deviceId: 'vm-3' })],
    },
    [
      'send worker-3 0=port-3',
      'port-1 NameNotUnique',
      'port-2 NameNotUnique',
      'vm-1 NameNotUnique',
      'vm-2 NameNotUnique',
    ],
  ],
  'a second VM with the name of a delivered one is refused, the first goes on': [
    {
      vms: [vm1, { ...vm2, name: 'worker-1' }],
      ports: [aPort(1), aPort(2), aPort(3, { deviceId: 'vm-2' })],
      held: [one],
    },
    ['send worker-1 0=port-1 1=port-2', 'port-3 NameNotUnique', 'vm-2 NameNotUnique'],
  ],
  'a node that the cluster holds empty is filled again': [
    { ports: [aPort(1)], held: [held([])] },
    ['send worker-1 0=port-1'],
  ],
}

for (const [name, [given, said]] of Object.entries(cases))
  test(name, () => assert.deepEqual(words(planNodes(observed(given))), said))

test('an MTU that Neutron does not tell for once stays as it was delivered', () => {
  const plan = planNodes(observed({ ports: [aPort(1)], held: [held([aNic(1, 0, { mtu: 9000 })])] }))
  assert.deepEqual(words(plan), [])
})

test('both addresses of a port are delivered, the first chosen subnet’s in front', () => {
  const v6: Subnet = { ...storage, id: 'v6', cidr: 'fd00::/64', gateway: 'fd00::1' }
  const fixedIps = [
    { subnetId: 'v6', address: 'fd00::10' },
    { subnetId: 'storage', address: '10.1.0.10' },
  ]
  const [node] = planNodes(observed({ subnets: [storage, v6], ports: [aPort(1, { fixedIps })] })).nodes
  const [nic] = node?.interfaces ?? []
  assert.deepEqual(
    [nic?.address, nic?.cidr, nic?.addresses],
    ['10.1.0.10', '10.1.0.0/24', ['10.1.0.10/24', 'fd00::10/64']],
  )
})

test('each delivery names the state that it was planned on', () => {
  const plan = planNodes(observed({ vms: [vm1, vm2], ports: [aPort(2), aPort(3, { deviceId: 'vm-2' })], held: [one] }))
  assert.deepEqual(
    plan.nodes.map(node => [node.nodeName, node.expectedSpecHash]),
    [
      ['worker-1', 'held'],
      ['worker-2', ''],
    ],
  )
})

test('an object that is deleted takes its own away and leaves the others', () => {
  const nodes = planRelease(
    me,
    [held([aNic(1, 0), aNic(2, 1, { source: 'ns/other' })]), held([aNic(3, 0)], { nodeName: 'worker-2' })],
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

test('a port keeps its number for life, whatever is attached, detached or restarted around it', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('attach' as const), n: fc.integer({ min: 1, max: 14 }) }),
    fc.record({ do: fc.constant('detach' as const), n: fc.integer({ min: 1, max: 14 }) }),
    fc.record({ do: fc.constant('blink' as const), n: fc.integer({ min: 1, max: 14 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const attached = new Set<number>()
      const numbers = new Map<string, number>()
      let nodes: HeldNode[] = []
      for (const { do: what, n } of steps) {
        if (what === 'attach') attached.add(n)
        if (what === 'detach') attached.delete(n)
        // Nothing but what Viola holds is carried over: each sync is a new operator.
        const listed = [...attached].filter(one => what !== 'blink' || one !== n).map(one => aPort(one))
        const first = planNodes(observed({ ports: listed, held: nodes }))
        const answers = new Map(
          first.questions.map(({ portId = '' }) => [
            portId,
            attached.has(Number(portId.slice(5))) ? ('attached' as const) : ('detached' as const),
          ]),
        )
        const plan = planNodes(observed({ ports: listed, held: nodes, answers, release: true }))
        nodes = plan.nodes.flatMap(node =>
          node.interfaces.length > 0
            ? [held(node.interfaces, { nodeName: node.nodeName, instanceId: node.instanceId })]
            : [],
        )
        const now = new Map(nodes.flatMap(node => node.interfaces.map(nic => [nic.portId ?? '', nic.index])))
        assert.equal(new Set(now.values()).size, now.size, 'two interfaces share a number')
        for (const [port, id] of now) if (numbers.has(port)) assert.equal(id, numbers.get(port), `${port} moved`)
        for (const one of attached) if (now.size < 10) assert.ok(now.has(`port-${one}`) || what === 'blink')
        numbers.clear()
        for (const [port, id] of now) numbers.set(port, id)
      }
    }),
    { numRuns: 200 },
  )
})
