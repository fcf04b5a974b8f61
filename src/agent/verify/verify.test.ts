import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { planRun } from '../plan/plan.ts'
import { summarize } from '../state/difference.ts'
import type { Observed } from '../state/observed.ts'
import { predictState } from '../state/predict.ts'
import { aNode, anAddress, anInterface, aRoute, aRule, settingsFrom } from '../test/agent.fixture.ts'
import { differences, fileDifferences } from './verify.ts'

const start = aNode(1)
const plan = planRun({
  interfaces: [anInterface(0)],
  nodeAddresses: [],
  settings: settingsFrom(),
  paths: hostPaths,
  observed: start,
})
const good = predictState(start, plan.units)
const [accepted] = plan.accepted
assert.ok(accepted)
const { nic, link } = accepted

const onLink = (values: Partial<Observed['links'][number]>): Observed => ({
  ...good,
  links: good.links.map(entry => (entry.ifindex === link.ifindex ? { ...entry, ...values } : entry)),
})
const isStale = ({ from }: { from?: string }) => from === '10.99.0.0/24'
const defaultRoute = '0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4'
const firstRule = 'from 10.100.0.0/24 iif lo lookup 100 priority 10070'
const others = <T extends { ifindex: number }>(items: T[]) => items.filter(item => item.ifindex !== link.ifindex)

const cases: Record<string, [observed: Observed, expected: string[]]> = {
  'the desired state': [good, []],
  'a missing device': [{ ...good, links: others(good.links) }, ['NicMissing: device not found']],
  'another name': [onLink({ name: 'ens4' }), ['VerifyFailed: name is ens4, expected multinic0']],
  'another MTU': [onLink({ mtu: 1500 }), ['VerifyFailed: MTU is 1500, expected 1450']],
  'another MAC address': [
    onLink({ macAddress: 'fa:16:3e:77:77:77' }),
    ['VerifyFailed: MAC address is fa:16:3e:77:77:77, expected fa:16:3e:00:00:01'],
  ],
  'a NIC that NetworkManager manages by itself': [
    { ...good, managers: { 3: 'other' } },
    ['VerifyFailed: NetworkManager manages it without our profile, and may change it at any time'],
  ],
  'a NIC that NetworkManager manages with our profile': [{ ...good, managers: { 3: 'ours' } }, []],
  'another NIC that NetworkManager manages': [{ ...good, managers: { 2: 'other' } }, []],
  'a default route in a foreign table': [
    { ...good, routes: [...good.routes, aRoute(3, 'default', { table: 77 })] },
    [],
  ],
  'a foreign route that is no default route': [
    { ...good, routes: [...good.routes, aRoute(3, '192.0.2.0/24', { protocol: 4 })] },
    [],
  ],
  'a blackhole instead of a route': [
    { ...good, routes: good.routes.map(route => (route.table === 100 ? { ...route, type: 6 } : route)) },
    [
      'VerifyFailed: route 10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4 is missing',
      `VerifyFailed: route ${defaultRoute} is missing`,
    ],
  ],
  'a route of another NIC in the table': [
    {
      ...good,
      routes: good.routes.map(route => (route.gateway === '10.100.0.1' ? { ...route, devices: [2] } : route)),
    },
    [`VerifyFailed: route ${defaultRoute} is missing`],
  ],
  'a route with the protocol of the kernel, as NetworkManager adds it': [
    { ...good, routes: good.routes.map(route => (route.table === 100 ? { ...route, protocol: 2 } : route)) },
    [],
  ],
  'a rule with a condition more': [
    { ...good, rules: good.rules.map((rule, index) => (index === 0 ? { ...rule, plain: false } : rule)) },
    [`VerifyFailed: rule ${firstRule} is missing`],
  ],
  'an address of another NIC': [
    { ...good, addresses: good.addresses.map(entry => (entry.ifindex === 3 ? { ...entry, ifindex: 2 } : entry)) },
    ['VerifyFailed: address 10.100.0.10/24 is missing'],
  ],
  'a sysctl that the kernel does not have': [{ ...good, sysctls: {} }, []],
  'a link that is down': [onLink({ up: false }), ['LinkDown: link is down']],
  'a link without carrier': [onLink({ carrier: false }), ['LinkDown: link has no carrier']],
  'a missing address': [
    { ...good, addresses: others(good.addresses) },
    ['VerifyFailed: address 10.100.0.10/24 is missing'],
  ],
  'another address': [
    { ...good, addresses: [...others(good.addresses), anAddress(3, '10.100.0.11/24', { noPrefixRoute: true })] },
    ['VerifyFailed: address 10.100.0.10/24 is missing'],
  ],
  'an address with its route in the main table': [
    { ...good, addresses: [...others(good.addresses), anAddress(3, '10.100.0.10/24')] },
    ['VerifyFailed: address 10.100.0.10/24 lacks the flag noprefixroute'],
  ],
  'an address whose route in the main table has the metric of the NIC': [
    { ...good, addresses: [...others(good.addresses), anAddress(3, '10.100.0.10/24', { metric: 20_000 })] },
    [],
  ],
  'an address that another host uses': [
    {
      ...good,
      addresses: [...others(good.addresses), anAddress(3, '10.100.0.10/24', { noPrefixRoute: true, dadFailed: true })],
    },
    ['AddressConflict: another host uses 10.100.0.10/24'],
  ],
  'a missing route': [
    { ...good, routes: good.routes.filter(route => route.table !== 100 || route.destination !== 'default') },
    [`VerifyFailed: route ${defaultRoute} is missing`],
  ],
  'a route in the main table that is missing': [
    { ...good, routes: good.routes.filter(({ metric }) => metric !== 20_000) },
    ['VerifyFailed: route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4 is missing'],
  ],
  'a rule with another mark': [
    { ...good, rules: good.rules.map(rule => (rule.priority === 10_000 ? { ...rule, fwmark: '0x10/0x78' } : rule)) },
    ['VerifyFailed: rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000 is missing'],
  ],
  'a rule for forwarded packets too': [
    {
      ...good,
      rules: good.rules.map(({ iif, ...rule }) => (rule.priority === 10_070 ? rule : { ...rule, ...(iif && { iif }) })),
    },
    [`VerifyFailed: rule ${firstRule} is missing`],
  ],
  'a default route': [
    { ...good, routes: [...good.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] },
    ['CarriesDefaultRoute: has a default route in the main table'],
  ],
  'a missing rule, one that should be gone, and a foreign one': [
    {
      ...good,
      rules: [...good.rules.slice(1), aRule({ from: '10.99.0.0/24' }), aRule({ from: '192.168.7.7/32' })],
    },
    [
      `VerifyFailed: rule ${firstRule} is missing`,
      'VerifyFailed: rule from 10.99.0.0/24 lookup 100 priority 10100 is unexpected',
    ],
  ],
  'another sysctl': [
    { ...good, sysctls: { ...good.sysctls, 3: { ...good.sysctls[3], 'ipv4.rp_filter': '1' } } },
    ['VerifyFailed: ipv4.rp_filter is 1, expected 2'],
  ],
}

for (const [name, [observed, expected]] of Object.entries(cases)) {
  test(`${name}: ${expected.length === 0 ? 'no difference' : 'reported'}`, () => {
    assert.deepEqual(
      differences(nic, link.ifindex, observed, isStale).map(({ reason, message }) => `${reason}: ${message}`),
      expected,
    )
  })
}

test('a lookup that takes another way is reported only when no missing rule or route explains it', () => {
  const lookups = { 'route get 10.100.0.1 from 10.100.0.10': null }
  const messages = (observed: Observed) =>
    differences(nic, 3, { ...observed, lookups }).map(({ reason, message }) => `${reason}: ${message}`)
  assert.deepEqual(messages(good), [
    'VerifyFailed: packets from 10.100.0.10 to 10.100.0.1 have no route, expected by multinic0',
  ])
  assert.deepEqual(messages(onLink({ mtu: 1500 })), ['VerifyFailed: MTU is 1500, expected 1450'])
})

test('an address that must have its route in the main table is reported without it, and any MTU is accepted if none is requested', () => {
  const { mtu: _, ...rest } = nic
  const open = { ...rest, addresses: [{ cidr: '10.100.0.10/24', noPrefixRoute: false }] }
  assert.deepEqual(
    differences(open, 3, onLink({ mtu: 1500 })).map(({ message }) => message),
    ['address 10.100.0.10/24 has the flag noprefixroute'],
  )
})

test('several differences become one failure with the first reason', () => {
  assert.equal(summarize([]), undefined)
  assert.deepEqual(summarize(differences(nic, 3, onLink({ up: false, mtu: 1500 }))), {
    reason: 'VerifyFailed',
    message: 'MTU is 1500, expected 1450; link is down',
  })
})

test('files that are missing, modified or of another mode are reported', () => {
  const file = { text: 'a', mode: 0o600, uid: 0, gid: 0 }
  const desired = { '/a': file, '/b': file, '/c': file, '/d': file }
  const files = { '/b': { ...file, text: 'b' }, '/c': { ...file, mode: 0o644 }, '/d': file }
  assert.deepEqual(
    fileDifferences(desired, { ...good, files }).map(({ reason, message }) => `${reason}: ${message}`),
    ['PersistFailed: /a is missing', 'PersistFailed: /b was modified', 'PersistFailed: /c has the wrong mode'],
  )
})
