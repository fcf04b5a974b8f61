/** What all NICs share on a node: how it follows NICs, the gateway and what others set. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { planRollback } from '../apply/rollback-plan.ts'
import { hostPaths } from '../paths.ts'
import { describeChange } from '../state/change.ts'
import { bootFiles, nodeFiles, nodeRecordPath } from '../state/node-files.ts'
import type { Observed } from '../state/observed.ts'
import { predictState } from '../state/predict.ts'
import { withPurpose } from '../state/unit.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  aRule,
  changesOf,
  macOf,
  nodeChangesOf,
  planOf,
  primaryMac,
} from '../test/agent.fixture.ts'
import { nodeDifferences } from './node-routing.ts'

const one = [anInterface(0)]
const both = [anInterface(0, { addresses: ['fd00:1::10/64'] })]
const start = aNode(2)
const default6 = aRoute(2, 'default', { family: 6, gateway: 'fe80::1', metric: 1024 })
/** The primary NIC has IPv6 too. */
const dual: Observed = {
  ...start,
  addresses: [...start.addresses, anAddress(2, 'fd00:ff::10/64')],
  routes: [...start.routes, default6],
}
const configured = afterPlan(start, one)
const withGateway = (gateway: string, observed: Observed = configured): Observed => ({
  ...observed,
  routes: observed.routes.map(route =>
    route.table === 254 && route.destination === 'default' ? { ...route, gateway } : route,
  ),
})
/** Changes of what NICs share, without those rules that only save time. */
const linesOf = (observed: Observed, requested: readonly Interface[], env: Record<string, string> = {}) =>
  nodeChangesOf(planOf(observed, requested, env)).filter(line => !/ (goto \d+|nop) /.test(line))
const unitsOf = (observed: Observed, requested: readonly Interface[]) =>
  withPurpose(planOf(observed, requested).units, 'node')

const route4 = 'route 10.100.0.0/24 via 10.0.0.1 table 110 onlink protocol 2'
const rules4 = [
  'rule from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
  'rule from 10.0.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10090',
  'rule from 0.0.0.0/0 fwmark 0x58/0x78 lookup 110 priority 10010',
]
const add = (...lines: string[]) => lines.map(line => `add ${line}`)
const remove = (...lines: string[]) => lines.map(line => `remove ${line}`)

const fresh: Record<string, [observed: Observed, requested: Interface[], expected: string[]]> = {
  'without NICs there is nothing': [start, [], []],
  'the first NIC brings the table, a route to its network, and the rules': [
    start,
    one,
    add('nft table ip multinic', route4, ...rules4),
  ],
  'each family follows its own default route': [
    dual,
    both,
    add(
      'nft table ip multinic',
      'nft table ip6 multinic',
      route4,
      'route fd00:1::/64 via fe80::1 table 110 metric 1024 onlink protocol 2',
      ...rules4,
      'rule from fd00:ff::/64 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'rule from fd00:ff::/64 iif lo lookup 254 suppress_prefixlength 64 priority 10090',
      'rule from ::/0 fwmark 0x58/0x78 lookup 110 priority 10010',
    ),
  ],
  'a family without a default route has its table alone': [
    start,
    both,
    add('nft table ip multinic', 'nft table ip6 multinic', route4, ...rules4),
  ],
  'a node without a default route has tables alone': [
    { ...start, routes: start.routes.filter(({ destination }) => destination !== 'default') },
    one,
    add('nft table ip multinic'),
  ],
  'a reserved network has no route by the primary NIC': [
    start,
    [anInterface(0, { address: '10.0.0.50', cidr: '10.0.0.0/24', gateway: '10.0.0.1' })],
    add('nft table ip multinic'),
  ],
  'a requested route has one too': [
    start,
    [anInterface(0, { routes: [{ destination: '172.16.0.0/12', nexthop: '10.100.0.9' }] })],
    add('nft table ip multinic', route4, 'route 172.16.0.0/12 via 10.0.0.1 table 110 onlink protocol 2', ...rules4),
  ],
  'a network that two NICs have has one route': [
    start,
    [anInterface(0), anInterface(1, { address: '10.100.0.11', cidr: '10.100.0.0/24' })],
    add('nft table ip multinic', route4, ...rules4),
  ],
  'a route of others in its table leaves the table to them': [
    { ...start, routes: [...start.routes, aRoute(2, '10.9.0.0/16', { table: 110 })] },
    one,
    add('nft table ip multinic'),
  ],
  'a route of its own without a record stays': [
    {
      ...start,
      routes: [
        ...start.routes,
        aRoute(2, '10.100.0.0/24', { table: 110, gateway: '10.0.0.1', onlink: true, protocol: 2 }),
      ],
    },
    one,
    add('nft table ip multinic', ...rules4),
  ],
}
for (const [name, [observed, requested, expected]] of Object.entries(fresh))
  test(`on a fresh node: ${name}`, () => {
    assert.deepEqual(linesOf(observed, requested), expected)
    assert.deepEqual(changesOf(planOf(afterPlan(observed, requested), requested)), [])
  })

test('without policy routing NICs share nothing', () => {
  assert.deepEqual(linesOf(start, one, { NETWORK_POLICY_ROUTING_ENABLED: 'false' }), [])
})

const later: Record<string, [observed: Observed, requested: Interface[], expected: string[]]> = {
  'nothing changes while nothing differs': [configured, one, []],
  'another gateway replaces the routes': [
    withGateway('10.0.0.254'),
    one,
    [...remove(route4), 'add route 10.100.0.0/24 via 10.0.0.254 table 110 onlink protocol 2'],
  ],
  'a table that somebody changed is loaded again': [
    { ...configured, nft: { 4: 'table ip multinic {\n}\n' } },
    one,
    ['replace nft table ip multinic'],
  ],
  'a table that somebody removed is loaded again': [{ ...configured, nft: {} }, one, add('nft table ip multinic')],
  'a table of a family that no NIC has goes': [
    { ...configured, nft: { ...configured.nft, 6: 'table ip6 multinic {\n}\n' } },
    one,
    remove('nft table ip6 multinic'),
  ],
  'a rule and a route that somebody removed come back': [
    {
      ...configured,
      rules: configured.rules.filter(({ priority }) => priority !== 10_091),
      routes: configured.routes.filter(({ table }) => table !== 110),
    },
    one,
    add(route4, rules4[0] ?? ''),
  ],
  'a route of others in the table takes the way by the primary NIC': [
    { ...configured, routes: [...configured.routes, aRoute(2, '10.9.0.0/16', { table: 110 })] },
    one,
    ['replace nft table ip multinic', ...remove(...rules4, route4)],
  ],
  'the last NIC takes everything with it': [configured, [], remove(...rules4, route4, 'nft table ip multinic')],
  'a rule of others with the same priority stays': [
    { ...configured, rules: [...configured.rules, aRule({ from: '10.9.0.0/16', table: 9, priority: 10_091 })] },
    [],
    remove(...rules4, route4, 'nft table ip multinic'),
  ],
  'a second NIC gets a route and is in the table': [
    configured,
    [...one, anInterface(1)],
    ['replace nft table ip multinic', 'add route 10.101.0.0/24 via 10.0.0.1 table 110 onlink protocol 2'],
  ],
}
for (const [name, [observed, requested, expected]] of Object.entries(later))
  test(`on a node with a NIC: ${name}`, () => {
    assert.deepEqual(linesOf(observed, requested), expected)
  })

test('a gateway that changes replaces its routes in place', () => {
  const [unit = assert.fail()] = unitsOf(withGateway('10.0.0.254'), one)
  const routes = unit.changes.filter(change => change.kind === 'route')
  assert.deepEqual(
    routes.map(({ op, inPlace }) => [op, inPlace]),
    [
      ['remove', true],
      ['add', true],
    ],
  )
})

test('a default route by another device moves the routes there, in units of their own', () => {
  const moved = {
    ...configured,
    routes: configured.routes.map(route =>
      route.table === 254 && route.destination === 'default' ? { ...route, devices: [4], gateway: '10.5.0.1' } : route,
    ),
  }
  const units = unitsOf(moved, one)
  const routes = units.map(({ ifindex, changes }, at) => [
    ifindex,
    ...changes.filter(({ kind }) => at > 0 || kind === 'route').map(describeChange),
  ])
  assert.deepEqual(routes, [
    [4, 'add route 10.100.0.0/24 via 10.5.0.1 table 110 onlink protocol 2'],
    [2, `remove ${route4}`],
  ])
  assert.deepEqual(
    units.map(({ group, index }) => [group, index]),
    [
      ['node', -1],
      ['node', -1],
    ],
  )
  assert.deepEqual(changesOf(planOf(afterPlan(moved, one), one)), [])
})

test('rules that the record names go, and rules that it does not name stay', () => {
  const stale = aRule({ from: '10.7.0.0/24', iif: 'lo', table: 110, suppressPrefixLength: 0, priority: 10_091 })
  const unknown = { ...stale, from: '10.8.0.0/24' }
  const path = nodeRecordPath(hostPaths)
  const file = configured.files[path] ?? assert.fail('no record')
  const record = JSON.parse(file.text)
  const text = 'from 10.7.0.0/24 iif lo lookup 110 suppress_prefixlength 0 priority 10091'
  const observed: Observed = {
    ...configured,
    rules: [...configured.rules, stale, unknown],
    files: {
      ...configured.files,
      [path]: { ...file, text: JSON.stringify({ ...record, rules: [...record.rules, text] }) },
    },
  }
  assert.deepEqual(linesOf(observed, one), [`remove rule ${text}`])
})

const whole = '"rules":[],"routes":[]'
const unread = {
  '': 'is no record',
  null: 'is no record',
  '{"version":1,"rules":[7],"routes":[null]}': 'has a value that no agent writes',
  '{"version":1,"rules":["from 10.0.0.0/24 lookup 110 priority 7"],"routes":[]}': 'has a value that no agent writes',
  [`{"version":2,${whole}}`]: 'has version 2',
  [`{"version":1,${whole},"colours":[]}`]: 'has the unknown key colours',
}
for (const [text, problem] of Object.entries(unread))
  test(`a record that cannot be read completely stays and stops all NICs: ${text}`, () => {
    const path = nodeRecordPath(hostPaths)
    const file = configured.files[path] ?? assert.fail('no record')
    const observed = { ...configured, files: { ...configured.files, [path]: { ...file, text } } }
    const refusal = { reason: 'StateUnreadable', message: `${path} ${problem}` }
    const changed = planOf(observed, [anInterface(0, { mtu: 1400 })])
    assert.deepEqual([changesOf(changed), [...changed.refused.values()]], [[], [refusal]])
    const removed = planOf(observed, [])
    assert.deepEqual([changesOf(removed), removed.unremovable], [[], [{ name: 'multinic0', refusal }]])
  })

test('where the kernel or the image has no nftables, rules and routes are all there is, and nothing differs', () => {
  const refusing = { ...start, nftError: 'Operation not supported' }
  assert.deepEqual(linesOf(refusing, one), add(route4, ...rules4))
  const now = afterPlan(refusing, one)
  assert.deepEqual(changesOf(planOf(now, one)), [])
  assert.deepEqual(nodeDifferences(planOf(now, one).node, now, hostPaths, 'all'), [])
  const path = nodeRecordPath(hostPaths)
  assert.ok(now.files[path], 'what is there must be found again')
})

test('the table that the kernel accepted stays when it refused that of the other family', () => {
  const now = afterPlan(dual, both)
  const without6 = { ...now, nft: { 4: now.nft[4] ?? '' }, nftError: 'Operation not supported' }
  assert.deepEqual(linesOf(without6, both), [])
})

test('differences name what is left to do; without files unless they are asked for', () => {
  const { [nodeRecordPath(hostPaths)]: _, ...files } = configured.files
  const lost = { ...configured, nft: {}, files }
  const differencesIn = (observed: Observed, part: 'all' | 'kernel') =>
    nodeDifferences(planOf(configured, one).node, observed, hostPaths, part).map(
      ({ reason, message }) => `${reason}: ${message}`,
    )
  const kernel = 'VerifyFailed: still to do: add nft table ip multinic'
  assert.deepEqual(differencesIn(lost, 'kernel'), [kernel])
  assert.deepEqual(differencesIn({ ...lost, nftError: 'not supported' }, 'kernel'), [])
  assert.equal(differencesIn(lost, 'all').length, 2)
  assert.deepEqual(differencesIn(configured, 'all'), [])
})

const mounted: Observed = { ...start, directories: [...start.directories, hostPaths.boot, hostPaths.units] }

test('files restore at boot what NICs share, where their directories are mounted', () => {
  const names = (observed: Observed) =>
    Object.keys(afterPlan(observed, one).files)
      .filter(path => nodeFiles(hostPaths).includes(path))
      .sort()
  assert.deepEqual(names(mounted), nodeFiles(hostPaths).sort())
  assert.deepEqual(names(start), [nodeRecordPath(hostPaths)])
  const removed = afterPlan(afterPlan(mounted, one), [])
  assert.deepEqual(removed.files, {})
})

test('the file of the tables loads what the kernel has, each table in place of another one', () => {
  const now = afterPlan(mounted, one)
  const { text, mode } = now.files[bootFiles(hostPaths).nft] ?? assert.fail('no file')
  assert.equal(mode, 0o644)
  assert.ok(text.endsWith(`table ip multinic\ndelete table ip multinic\n${now.nft[4]}`))
})

test('what NICs share is rolled back to what it was', () => {
  for (const [observed, requested] of [
    [start, one],
    [configured, []],
    [withGateway('10.0.0.254'), [...one, anInterface(1)]],
  ] as const) {
    const units = unitsOf(observed, requested)
    const after = predictState(observed, units)
    const { units: back, conflicts } = planRollback(units, after)
    assert.deepEqual(conflicts, [])
    const restored = predictState(after, back)
    const sharedOf = ({ nft, files, rules, routes }: Observed) => [
      nft,
      files,
      new Set(rules.map(rule => JSON.stringify(Object.entries(rule).sort()))),
      new Set(routes.map(route => JSON.stringify(Object.entries(route).sort()))),
    ]
    assert.deepEqual(sharedOf(restored), sharedOf(observed))
  }
})

test('a table that somebody changed meanwhile is not rolled back', () => {
  const units = unitsOf(start, one)
  const after = { ...predictState(start, units), nft: { 4: 'table ip multinic {\n}\n' } }
  const { units: back, conflicts } = planRollback(units, after)
  assert.deepEqual(conflicts, ['node: nft 4 has neither the old nor the new value'])
  assert.ok(back.every(({ changes }) => changes.every(({ kind }) => kind !== 'nft')))
})

test('the unit is that of the primary NIC, and of no device where it has no route', () => {
  assert.deepEqual(
    unitsOf(start, one).map(({ ifindex, macAddress }) => [ifindex, macAddress]),
    [[2, primaryMac]],
  )
  const without = { ...start, routes: start.routes.filter(({ destination }) => destination !== 'default') }
  assert.deepEqual(
    unitsOf(without, one).map(({ ifindex, macAddress }) => [ifindex, macAddress]),
    [[undefined, '']],
  )
  assert.notEqual(primaryMac, macOf(0))
})
