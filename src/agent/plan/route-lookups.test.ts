/** Which way packets of a NIC are asked for, and which answers of the kernel are right. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { hex, slotMark } from '../../contract/routing-scheme.ts'
import { hostPaths } from '../paths.ts'
import type { Observed, ObservedRoute } from '../state/observed.ts'
import {
  afterPlan,
  aLink,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  aRule,
  planOf,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { differences } from '../verify/verify.ts'
import { planRun } from './plan.ts'
import { lookupCommands, lookupDifferences, lookupTargets } from './route-lookups.ts'

const targets: Record<string, [nic: Partial<Interface>, expected: string[]]> = {
  'the gateway and a neighbour': [{}, ['10.100.0.1', '10.100.0.254']],
  'the gateway once when it is the neighbour': [{ gateway: '10.100.0.254' }, ['10.100.0.254']],
  'a neighbour that is no address of this node': [{ address: '10.100.0.254' }, ['10.100.0.1', '10.100.0.253']],
  'the other address of a network of two': [{ cidr: '10.100.0.10/31', gateway: '10.100.0.11' }, ['10.100.0.11']],
  'no neighbour in a network of one': [{ cidr: '10.100.0.10/32' }, ['10.100.0.1']],
  'an address of each requested route': [
    {
      routes: [
        { destination: '172.16.0.0/12', nexthop: '10.100.0.2' },
        { destination: '192.0.2.7/32', nexthop: '10.100.0.2' },
        { destination: '0.0.0.0/0', nexthop: '10.100.0.1' },
      ],
    },
    ['10.100.0.1', '10.100.0.254', '172.31.255.254', '192.0.2.7'],
  ],
  'no link-local router': [
    { addresses: ['fd00::10/64'], gateway: 'fe80::1' },
    ['10.100.0.254', 'fd00::ffff:ffff:ffff:fffe'],
  ],
}
for (const [name, [nic, expected]] of Object.entries(targets))
  test(`the kernel is asked for ${name}`, () => {
    assert.deepEqual(lookupTargets([anInterface(0, nic)], ['10.0.0.10']).get(0), expected)
  })

test('without a gateway the neighbour is asked for, and no remote address', () => {
  const { gateway: _, ...nic } = anInterface(0)
  assert.deepEqual(
    lookupCommands([nic], [nic], ['10.0.0.10', 'fd00::1'], () => '0x8'),
    ['route get 10.100.0.254', 'route get 10.100.0.254 from 10.100.0.10', 'route get 10.100.0.254 from 10.0.0.10'],
  )
})

test('a NIC with a gateway is asked for a remote address of each family, from its address and with its mark', () => {
  const nic = anInterface(0, { addresses: ['fd00::10/64'] })
  const far = lookupCommands([nic], [nic, anInterface(1)], [], ({ index }) => `0x${index + 8}`).filter(line =>
    /192\.0\.2\.1|2001:db8::1/.test(line),
  )
  assert.deepEqual(far, [
    'route get 192.0.2.1 from 10.100.0.10',
    'route get 192.0.2.1 mark 0x8',
    'route get 2001:db8::1 from fd00::10',
    'route get 2001:db8::1 mark 0x8',
  ])
})

/** `from 10.0.0.10 to 10.100.0.1: other`, by the name of the NIC. */
const expectedOf = (observed: Observed, interfaces: readonly Interface[]) =>
  planOf(observed, interfaces).accepted.map(({ nic }) => [
    nic.name,
    ...nic.lookups.map(({ from, mark, to, by }) =>
      [...(from ? [`from ${from}`] : []), ...(mark ? [`mark ${mark}`] : []), `to ${to}: ${by}`].join(' '),
    ),
  ])
const { gateway: _, ...noGateway } = anInterface(0)
const second = anInterface(1, { address: '10.100.0.11', cidr: '10.100.0.0/24', gateway: '10.100.0.1' })

const expectations: Record<string, [interfaces: Interface[], expected: string[][], node?: Observed]> = {
  'its own packets, those without a source, those of the node by another device, and marked ones': [
    [anInterface(0)],
    [
      [
        'multinic0',
        'from 10.100.0.10 to 10.100.0.1: nic',
        'to 10.100.0.1: nic',
        'from 10.0.0.10 to 10.100.0.1: other',
        'from 10.100.0.10 to 10.100.0.254: nic',
        'to 10.100.0.254: nic',
        'from 10.0.0.10 to 10.100.0.254: other',
        'from 10.100.0.10 to 192.0.2.1: nic',
        'mark 0x8 to 192.0.2.1: nic',
      ],
    ],
  ],
  'no remote packets without a gateway': [
    [noGateway],
    [
      [
        'multinic0',
        'from 10.100.0.10 to 10.100.0.254: nic',
        'to 10.100.0.254: nic',
        'from 10.0.0.10 to 10.100.0.254: other',
      ],
    ],
  ],
  'packets without a source by the first NIC of a shared network alone': [
    [noGateway, second],
    [
      [
        'multinic0',
        'from 10.100.0.10 to 10.100.0.254: nic',
        'to 10.100.0.254: nic',
        'from 10.0.0.10 to 10.100.0.254: other',
      ],
      [
        'multinic1',
        'from 10.100.0.11 to 10.100.0.1: nic',
        'from 10.0.0.10 to 10.100.0.1: other',
        'from 10.100.0.11 to 10.100.0.254: nic',
        'from 10.0.0.10 to 10.100.0.254: other',
        'from 10.100.0.11 to 192.0.2.1: nic',
        'mark 0x10 to 192.0.2.1: nic',
      ],
    ],
  ],
  'no packets without a source in a reserved network, and those of the node by another device': [
    [anInterface(0, { address: '10.0.0.50', cidr: '10.0.0.0/24', gateway: '10.0.0.1' })],
    [
      [
        'multinic0',
        'from 10.0.0.50 to 10.0.0.1: nic',
        'from 10.0.0.10 to 10.0.0.1: other',
        'from 10.0.0.50 to 10.0.0.254: nic',
        'from 10.0.0.10 to 10.0.0.254: other',
        'from 10.0.0.50 to 192.0.2.1: nic',
        'mark 0x8 to 192.0.2.1: nic',
      ],
    ],
  ],
  'those of the node by any device where others use the table with routes by the primary NIC': [
    [noGateway],
    [['multinic0', 'from 10.100.0.10 to 10.100.0.254: nic', 'to 10.100.0.254: nic']],
    { ...aNode(1), routes: [...aNode(1).routes, aRoute(2, '10.9.0.0/16', { table: 110 })] },
  ],
  'those of a node without a router by any device': [
    [noGateway],
    [['multinic0', 'from 10.100.0.10 to 10.100.0.254: nic', 'to 10.100.0.254: nic']],
    { ...aNode(1), routes: aNode(1).routes.filter(({ destination }) => destination !== 'default') },
  ],
}
for (const [what, [interfaces, expected, node = aNode(2)]] of Object.entries(expectations))
  test(`the kernel is expected to send ${what}`, () => {
    assert.deepEqual(expectedOf(node, interfaces), expected)
  })

const { nic, link } = planOf(aNode(1), [anInterface(0)]).accepted[0] ?? assert.fail()
const configured = afterPlan(aNode(1), [anInterface(0)])
const fromNic = 'route get 10.100.0.1 from 10.100.0.10'
const unbound = 'route get 10.100.0.1'
const fromNode = 'route get 10.100.0.1 from 10.0.0.10'
const marked = 'route get 192.0.2.1 mark 0x8'
const more = (...routes: ObservedRoute[]): Partial<Observed> => ({ routes: [...configured.routes, ...routes] })
const tunnel = { links: [...configured.links, aLink({ ifindex: 9, name: 'tun0', kind: 'tun' })] }
type Answer = [question: string, answer: ObservedRoute | null, expected: string[], node?: Partial<Observed>]
const answers: Record<string, Answer> = {
  'its own packets by the NIC are right': [fromNic, aRoute(3, '10.100.0.1/32', { table: 100 }), []],
  'its own packets without a route are not': [
    fromNic,
    null,
    ['packets from 10.100.0.10 to 10.100.0.1 have no route, expected by multinic0'],
  ],
  'its own packets by another device are not': [
    fromNic,
    aRoute(2, '10.100.0.1/32'),
    ['packets from 10.100.0.10 to 10.100.0.1 leave by ens3, table 254, expected by multinic0'],
  ],
  'the rule that leads there is named': [
    unbound,
    aRoute(2, '10.100.0.1/32', { table: 77 }),
    [
      'packets without a source to 10.100.0.1 leave by ens3, table 77 (rule lookup 77 priority 5), expected by multinic0',
    ],
    { rules: [...configured.rules, aRule({ table: 77, priority: 5 })] },
  ],
  'a more specific route of others wins': [
    unbound,
    aRoute(9, '10.100.0.1/32'),
    [],
    { ...tunnel, ...more(aRoute(9, '10.100.0.0/26')) },
  ],
  'a route of others to the same network with a better metric wins': [
    unbound,
    aRoute(9, '10.100.0.1/32'),
    [],
    { ...tunnel, ...more(aRoute(9, '10.100.0.0/24')) },
  ],
  'a shorter route of others does not': [
    unbound,
    aRoute(9, '10.100.0.1/32'),
    ['packets without a source to 10.100.0.1 leave by tun0, table 254, expected by multinic0'],
    { ...tunnel, ...more(aRoute(9, '10.100.0.0/16')) },
  ],
  'a more specific route in another table does not': [
    unbound,
    aRoute(9, '10.100.0.1/32', { table: 77 }),
    ['packets without a source to 10.100.0.1 leave by tun0, table 77, expected by multinic0'],
    { ...tunnel, ...more(aRoute(9, '10.100.0.0/26', { table: 77 })) },
  ],
  'an address of the node itself is right': [fromNic, aRoute(1, '10.100.0.1/32', { table: 255, type: 2 }), []],
  'packets of the node by another device are right': [fromNode, aRoute(2, '10.100.0.1/32', { table: 110 }), []],
  'packets of the node without a route are too': [fromNode, null, []],
  'packets of the node by the NIC are not': [
    fromNode,
    aRoute(3, '10.100.0.1/32'),
    ['packets from 10.0.0.10 to 10.100.0.1 leave by multinic0, expected by another device'],
  ],
  'a more specific route of others to a remote address wins over the default route of the NIC': [
    'route get 192.0.2.1 from 10.100.0.10',
    aRoute(9, '192.0.2.1/32'),
    [],
    { ...tunnel, ...more(aRoute(9, '192.0.2.0/24')) },
  ],
  'another default route does not win over that of the NIC': [
    'route get 192.0.2.1 from 10.100.0.10',
    aRoute(2, '192.0.2.1/32'),
    ['packets from 10.100.0.10 to 192.0.2.1 leave by ens3, table 254, expected by multinic0'],
  ],
  'marked packets by the NIC are right': [marked, aRoute(3, '192.0.2.1/32', { table: 100 }), []],
  'marked packets by another device are not': [
    marked,
    aRoute(2, '192.0.2.1/32'),
    ['replies with mark 0x8 to 192.0.2.1 leave by ens3, table 254, expected by multinic0'],
  ],
}
for (const [name, [question, answer, expected, node]] of Object.entries(answers))
  test(`answer of the kernel: ${name}`, () => {
    const observed = { ...configured, ...node, lookups: { [question]: answer } }
    assert.deepEqual(
      differences(nic, link.ifindex, observed).map(({ reason, message }) => `${reason}: ${message}`),
      expected.map(text => `VerifyFailed: ${text}`),
    )
  })

test('each lookup of the observation has an expectation, and each expectation is asked for', () => {
  const request = [anInterface(0, { addresses: ['fd00::10/64'] }), second]
  const planned = planOf(aNode(2), request)
  const asked = new Set(lookupCommands(request, request, ['10.0.0.10'], ({ index }) => hex(slotMark(index, 0x78))))
  for (const { nic: each, link: device } of planned.accepted) {
    const lookups = Object.fromEntries([...asked].map(command => [command, null]))
    const found = lookupDifferences(each.lookups, device.ifindex, each.name, { ...aNode(2), lookups })
    assert.equal(found.length, each.lookups.filter(({ by }) => by === 'nic').length)
  }
})

test('an address of the node on a device without a default route has no way of its own', () => {
  const node = aNode(2)
  const planned = planRun({
    ...{ interfaces: [anInterface(0)], nodeAddresses: ['10.5.0.10'], settings: settingsFrom(), paths: hostPaths },
    observed: {
      ...node,
      addresses: [...node.addresses, anAddress(4, '10.5.0.10/24')],
      routes: [...node.routes, aRoute(4, '10.5.0.0/24', { protocol: 2 })],
    },
  })
  const others = planned.accepted.flatMap(({ nic: each }) => each.lookups.filter(({ by }) => by === 'other'))
  assert.deepEqual(others, [])
})
