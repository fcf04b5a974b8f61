import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aNode, anAddress, anInterface, aRoute, aRule, settingsFrom } from './agent.fixture.ts'
import type { Observed } from './observed.ts'
import { hostPaths } from './paths.ts'
import { planRun } from './plan.ts'
import { predictState } from './predict.ts'
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
const isStale = ({ from }: { from?: string }) => from === '10.100.0.99/32'
const others = <T extends { ifindex: number }>(items: T[]) => items.filter(item => item.ifindex !== link.ifindex)

const cases: Record<string, [observed: Observed, expected: string[]]> = {
  'the desired state': [good, []],
  'a missing device': [{ ...good, links: others(good.links) }, ['NicMissing: device not found']],
  'another name': [onLink({ name: 'ens4' }), ['VerifyFailed: name is ens4, expected multinic0']],
  'another MTU': [onLink({ mtu: 1500 }), ['VerifyFailed: MTU is 1500, expected 1450']],
  'a link that is down': [onLink({ up: false }), ['LinkDown: link is down']],
  'a link without carrier': [onLink({ carrier: false }), ['LinkDown: link has no carrier']],
  'a missing address': [
    { ...good, addresses: others(good.addresses) },
    ['VerifyFailed: address 10.100.0.10/24 is missing'],
  ],
  'an address with its route in the main table': [
    { ...good, addresses: [...others(good.addresses), anAddress(3, '10.100.0.10/24')] },
    ['VerifyFailed: address 10.100.0.10/24 lacks the flag noprefixroute'],
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
    ['VerifyFailed: route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 protocol 4 is missing'],
  ],
  'a default route': [
    { ...good, routes: [...good.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] },
    ['DefaultRoute: has a default route in the main table'],
  ],
  'a missing rule, one that should be gone, and a foreign one': [
    {
      ...good,
      rules: [...good.rules.slice(1), aRule({ from: '10.100.0.99/32' }), aRule({ from: '192.168.7.7/32' })],
    },
    [
      'VerifyFailed: rule from 10.100.0.10/32 lookup 100 priority 10100 is missing',
      'VerifyFailed: rule from 10.100.0.99/32 lookup 100 priority 10100 is unexpected',
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

test('files that are missing, modified or of another mode are reported', () => {
  const file = { text: 'a', mode: 0o600, uid: 0, gid: 0 }
  const desired = { '/a': file, '/b': file, '/c': file, '/d': file }
  const files = { '/b': { ...file, text: 'b' }, '/c': { ...file, mode: 0o644 }, '/d': file }
  assert.deepEqual(
    fileDifferences(desired, { ...good, files }).map(({ message }) => message),
    ['/a is missing', '/b was modified', '/c has the wrong mode'],
  )
})
