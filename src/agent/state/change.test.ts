/** Changes as commands of `ip` and as text for people. Records and journals keep the texts of rules and routes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Change,
  describeChange,
  ipCommand,
  isKernelChange,
  type RouteSpec,
  type RuleSpec,
  routeText,
  ruleText,
} from './change.ts'

const base = { family: 4, table: 100, priority: 10_000, protocol: 4 } as const
const rules: Record<string, RuleSpec> = {
  'lookup 100 priority 10000': base,
  'from 10.1.0.0/24 iif lo lookup 100 priority 10000': { ...base, from: '10.1.0.0/24', iif: 'lo' },
  'from 10.1.0.1/32 to 10.1.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10000': {
    ...{ ...base, table: 254, from: '10.1.0.1/32', to: '10.1.0.0/24', iif: 'lo', suppressPrefixLength: 24 },
  },
  'from 10.1.0.0/24 lookup 100 suppress_prefixlength 0 priority 10000': {
    ...{ ...base, from: '10.1.0.0/24', suppressPrefixLength: 0 },
  },
  'from ::/0 fwmark 0x8/0x78 lookup 100 priority 10000': {
    ...{ ...base, family: 6, from: '::/0', fwmark: '0x8/0x78' },
  },
  'not from 0.0.0.0/0 iif lo goto 10095 priority 10000': {
    ...{ ...base, table: 0, not: true, from: '0.0.0.0/0', iif: 'lo', goto: 10_095 },
  },
  'from 0.0.0.0/0 nop priority 10000': { ...base, table: 0, from: '0.0.0.0/0', nop: true },
}
for (const [text, rule] of Object.entries(rules))
  test(`rule ${text}`, () => {
    assert.equal(ruleText(rule), text)
    const change = (op: 'add' | 'remove') => ({ kind: 'rule', op, rule }) as const
    assert.equal(ipCommand(change('add'), 3), `rule add ${text} protocol 4`)
    assert.equal(ipCommand(change('remove'), 3), `rule del ${text} protocol 4`)
    assert.equal(describeChange(change('remove')), `remove rule ${text}`)
  })

const direct: RouteSpec = {
  family: 4,
  table: 254,
  destination: '10.1.0.0/24',
  metric: 20_000,
  onlink: false,
  protocol: 4,
}
const routes: Record<string, [route: RouteSpec, command: string]> = {
  'a network with its source': [
    { ...direct, source: '10.1.0.10' },
    '10.1.0.0/24 dev if3 table 254 src 10.1.0.10 metric 20000 protocol 4',
  ],
  'a default route by a router that is on-link': [
    { ...direct, table: 100, destination: 'default', gateway: '10.1.0.1', metric: 100, onlink: true },
    '0.0.0.0/0 via 10.1.0.1 dev if3 table 100 metric 100 onlink protocol 4',
  ],
  'a route without a metric': [
    { ...direct, table: 110, gateway: '10.0.0.1', metric: 0, onlink: true, protocol: 2 },
    '10.1.0.0/24 via 10.0.0.1 dev if3 table 110 onlink protocol 2',
  ],
  'an IPv6 default route': [
    { ...direct, family: 6, destination: 'default', gateway: 'fe80::1', metric: 1024 },
    '::/0 via fe80::1 dev if3 table 254 metric 1024 protocol 4',
  ],
  'a route from no source': [
    { ...direct, family: 6, destination: 'fd00::/64', from: '::/128', metric: 100 },
    'fd00::/64 from ::/128 dev if3 table 254 metric 100 protocol 4',
  ],
}
for (const [what, [route, command]] of Object.entries(routes))
  test(`${what} is added and removed with the same words, and named without its device`, () => {
    const change = (op: 'add' | 'remove', more = {}) => ({ kind: 'route', op, route, ...more }) as const
    assert.equal(ipCommand(change('add'), 3), `route add ${command}`)
    assert.equal(ipCommand(change('remove'), 3), `route del ${command}`)
    assert.equal(routeText(route), command.replace(' dev if3', ''))
    assert.equal(describeChange(change('add')), `add route ${routeText(route)}`)
    // The kernel replaces the old route with the new one: the removal needs no command.
    assert.equal(ipCommand(change('add', { inPlace: true }), 3), `route replace ${command}`)
    assert.equal(ipCommand(change('remove', { inPlace: true }), 3), '')
  })

const [table4, table6] = ['table ip multinic {\n}\n', 'table ip6 multinic {\n}\n']
const tables: Record<string, Change> = {
  'add nft table ip multinic': { kind: 'nft', family: 4, to: table4 },
  'replace nft table ip multinic': { kind: 'nft', family: 4, from: table4, to: `${table4}\n` },
  'remove nft table ip6 multinic': { kind: 'nft', family: 6, from: table6 },
}
for (const [text, change] of Object.entries(tables))
  test(`${text} is no command of ip`, () => {
    assert.equal(describeChange(change), text)
    assert.equal(isKernelChange(change), false)
  })
