/** What a rollback restores of each kind of value, and what it leaves to whoever changed it meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { type Change, describeChange } from '../state/change.ts'
import { addressSpec, routeSpec, ruleSpec } from '../state/nic-state.ts'
import type { Link, Observed } from '../state/observed.ts'
import type { Unit } from '../state/unit.ts'
import { afterPlan, aNode, anAddress, anInterface, aRoute, aRule, macOf, planOf } from '../test/agent.fixture.ts'
import { planRollback } from './rollback-plan.ts'

const before = aNode(1)
const nicUnits = (observed: Observed, requested: readonly Interface[]) =>
  planOf(observed, requested).units.filter(({ purpose }) => purpose !== 'node')
const units = nicUnits(before, [anInterface(0)])
const after = afterPlan(before, [anInterface(0)])
const onLink = (values: Partial<Link>): Observed => ({
  ...after,
  links: after.links.map(link => (link.ifindex === 3 ? { ...link, ...values } : link)),
})
const linesOf = (planned: readonly Unit[]) => planned.flatMap(({ changes }) => changes.map(describeChange))
const rollbackOf = (observed: Observed) => linesOf(planRollback(units, observed).units)
const netplan = '/etc/netplan/90-multinic0.yaml'

const all = [
  'remove rule from 10.100.0.0/24 iif lo lookup 100 priority 10070',
  'remove rule from 10.100.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
  'remove rule from 0.0.0.0/0 iif multinic0 fwmark 0x8/0x78 lookup 254 priority 9999',
  'remove rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000',
  'remove route 10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
  'remove route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
  'remove route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4',
  'remove address 10.100.0.10/24 noprefixroute',
  'remove altname port-0',
  'link down',
  'rename multinic0 to ens4',
  'mtu 1450 to 1500',
  'ipv4.arp_ignore 1 to 0',
  'ipv4.arp_announce 2 to 0',
  'ipv4.rp_filter 2 to 0',
  'ipv6.accept_ra 0 to 1',
  'ipv6.autoconf 0 to 1',
  'remove /etc/systemd/network/05-multinic0.link',
  `remove ${netplan}`,
  'remove /etc/systemd/network/05-multinic0.network',
  'remove /etc/sysctl.d/90-multinic0.conf',
  'remove /var/lib/multinic/nics/fa163e000001.json',
]
const without = (pattern: RegExp) => all.filter(line => !pattern.test(line))

test('every change of a run is undone, in the opposite order', () => {
  const [unit, ...others] = planRollback(units, after).units
  assert.deepEqual(others, [])
  assert.deepEqual(unit?.changes.map(describeChange), all)
  assert.deepEqual([unit?.purpose, unit?.name, unit?.ifindex], ['rollback', 'multinic0', 3])
})

const conflicts: Record<string, [observed: Observed, conflict: string, kept: RegExp]> = {
  'the name': [onLink({ name: 'lan0' }), 'name', /rename/],
  'the MTU': [onLink({ mtu: 1333 }), 'mtu', /mtu/],
  'an option of an address': [
    {
      ...after,
      addresses: after.addresses.map(entry => (entry.ifindex === 3 ? { ...entry, noPrefixRoute: false } : entry)),
    },
    'address 10.100.0.10/24',
    /address/,
  ],
  'a sysctl': [
    { ...after, sysctls: { 3: { ...after.sysctls[3], 'ipv4.rp_filter': '1' } } },
    'sysctl ipv4.rp_filter',
    /rp_filter/,
  ],
  'the mode of a file': [
    { ...after, files: { ...after.files, [netplan]: { text: '', mode: 0o644, uid: 0, gid: 0 } } },
    `file ${netplan}`,
    /netplan/,
  ],
}
for (const [what, [observed, conflict, kept]] of Object.entries(conflicts))
  test(`a rollback reports that somebody changed ${what}, and leaves it`, () => {
    const planned = planRollback(units, observed)
    assert.deepEqual(planned.conflicts, [`multinic0: ${conflict} has neither the old nor the new value`])
    assert.deepEqual(linesOf(planned.units), without(kept))
  })

const gone: Record<string, [observed: Observed, kept: RegExp]> = {
  'an address': [{ ...after, addresses: before.addresses }, /address/],
  'an address, and set it on another NIC': [
    { ...after, addresses: after.addresses.map(entry => (entry.ifindex === 3 ? { ...entry, ifindex: 2 } : entry)) },
    /address/,
  ],
  'a route': [{ ...after, routes: before.routes }, /remove route/],
  'a route, and set another type': [
    { ...after, routes: after.routes.map(route => ({ ...route, type: 6 })) },
    /remove route/,
  ],
  'a route, and set it on another NIC': [
    { ...after, routes: after.routes.map(route => ({ ...route, devices: [2] })) },
    /remove route/,
  ],
  'a rule': [{ ...after, rules: [] }, /rule/],
  'a rule, and set one with a condition more': [
    { ...after, rules: after.rules.map(rule => ({ ...rule, plain: false })) },
    /rule/,
  ],
  'an altname': [onLink({ altnames: [] }), /altname/],
  'a file': [{ ...after, files: {} }, / \//],
}
for (const [what, [observed, kept]] of Object.entries(gone))
  test(`nothing is left to undo where somebody removed ${what}`, () => {
    assert.deepEqual(planRollback(units, observed).conflicts, [])
    assert.deepEqual(rollbackOf(observed), without(kept))
  })

test('a NIC that a killed rollback left with its temporary name gets its old name', () => {
  const planned = planRollback(units, onLink({ name: 'mnpark3' }))
  assert.deepEqual(planned.conflicts, [])
  assert.ok(linesOf(planned.units).includes('rename mnpark3 to ens4'))
  assert.equal(planRollback(units, onLink({ name: 'mnpark4' })).conflicts.length, 1, 'the name of another device')
})

test('several rounds of a run are undone at once, from any of their values', () => {
  const request = [anInterface(0, { mtu: 1400 })]
  const rounds = [...units, ...nicUnits(after, request)]
  assert.deepEqual(
    linesOf(planRollback(rounds, afterPlan(after, request)).units),
    all.map(line => line.replace('mtu 1450', 'mtu 1400')),
  )
  assert.deepEqual(linesOf(planRollback(rounds, after).units), all)
})

test('NICs that exchanged their names get them back in the opposite order, by temporary names', () => {
  const both = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  const exchange = [anInterface(0, { macAddress: macOf(1) }), anInterface(1, { macAddress: macOf(0) })]
  const planned = planRollback(nicUnits(both, exchange), afterPlan(both, exchange))
  assert.deepEqual(planned.conflicts, [])
  assert.deepEqual(
    planned.units.map(({ name, changes }) => [
      name,
      ...changes.filter(({ kind }) => kind === 'name').map(describeChange),
    ]),
    [
      ['multinic1', 'rename multinic1 to mnpark3', 'rename mnpark3 to multinic0'],
      ['multinic0', 'rename multinic0 to mnpark4', 'rename mnpark4 to multinic1'],
    ],
  )
})

test('a file that one NIC gave up and another one got is restored once', () => {
  const one = afterPlan(aNode(2), [anInterface(0)])
  const request = [anInterface(0, { macAddress: macOf(1) })]
  const planned = planRollback(nicUnits(one, request), afterPlan(one, request))
  const files = linesOf(planned.units).filter(line => line.includes('/etc/netplan'))
  assert.deepEqual(files, [`rewrite ${netplan}`])
  assert.deepEqual(planned.conflicts, [])
})

test('files alone are restored after a reboot, also those of a NIC that is gone', () => {
  const detached = { ...after, links: before.links.filter(({ ifindex }) => ifindex !== 3) }
  assert.deepEqual(linesOf(planRollback(units, detached, 'files').units), all.slice(-5))
  const traces = units.map(({ ifindex: _, ...unit }): Unit => unit)
  assert.deepEqual(linesOf(planRollback(traces, after).units), [...all.slice(0, 4), ...all.slice(-5)])
})

const [unit] = units
const undo = (changes: Change[], observed: Observed) =>
  linesOf(planRollback([{ ...(unit ?? assert.fail()), changes }], observed).units)
const lease = (valid: number) => anAddress(3, '10.100.0.77/24', { lifetime: { valid, preferred: valid } })
const withAddresses = (...addresses: Observed['addresses']): Observed => ({
  ...before,
  addresses: [...before.addresses, ...addresses],
})

test('a lease that the agent removed comes back, unless its client already has it again', () => {
  const removed: Change[] = [{ kind: 'address', op: 'remove', address: addressSpec(lease(600)) }]
  assert.deepEqual(undo(removed, before), ['add address 10.100.0.77/24'])
  assert.deepEqual(undo(removed, withAddresses(lease(500))), [])
})

test('a NIC that its manager has again gets no addresses and routes from a rollback: the manager sets them', () => {
  const route = { family: 4, table: 254, destination: '172.16.0.0/12', metric: 0, onlink: false, protocol: 4 } as const
  const removed: Change[] = [
    { kind: 'address', op: 'remove', address: addressSpec(lease(600)) },
    { kind: 'route', op: 'remove', route },
    { kind: 'route', op: 'remove', route: { ...route, table: 100 } },
  ]
  const managed = { ...before, managers: { 3: 'other' as const } }
  assert.deepEqual(undo(removed, managed), ['add route 172.16.0.0/12 table 100 protocol 4'])
  assert.equal(undo(removed, before).length, 3)
  const released: Change[] = [...removed, { kind: 'manager', from: 'none', to: 'other' }]
  assert.equal(undo(released, managed).length, 4, 'the agent gave the NIC to the manager, and takes it back')
})

test('a NIC that its manager has again loses what the agent added, and gets its rules back', () => {
  const [address, route] = [anAddress(3, '10.100.0.10/24'), aRoute(3, '172.16.0.0/12', { protocol: 4 })]
  const rule = aRule({ table: 254, from: '10.100.0.10/32' })
  const changes: Change[] = [
    { kind: 'address', op: 'add', address: addressSpec(address) },
    { kind: 'route', op: 'add', route: routeSpec(route) },
    { kind: 'rule', op: 'remove', rule: ruleSpec(rule) },
  ]
  const managed = { ...withAddresses(address), routes: [...before.routes, route], managers: { 3: 'other' as const } }
  assert.deepEqual(undo(changes, managed), [
    'remove route 172.16.0.0/12 table 254 protocol 4',
    'remove address 10.100.0.10/24',
    'add rule from 10.100.0.10/32 lookup 254 priority 10100',
  ])
})

test('a NIC that the agent took from its manager gets its addresses back with the manager', () => {
  const changes: Change[] = [
    { kind: 'manager', from: 'other', to: 'none' },
    { kind: 'address', op: 'remove', address: addressSpec(lease(600)) },
  ]
  assert.ok(undo(changes, before).includes('add address 10.100.0.77/24'))
  assert.equal(undo(changes, before).length, 2)
})

test('an address of ours that got a lifetime meanwhile is still ours', () => {
  const leased = after.addresses.map(entry =>
    entry.ifindex === 3 ? { ...entry, ...lease(60), cidr: entry.cidr, noPrefixRoute: true } : entry,
  )
  assert.deepEqual(planRollback(units, { ...after, addresses: leased }).conflicts, [])
})

test('a permanent address in place of a lease becomes a lease again', () => {
  const removed: Change[] = [{ kind: 'address', op: 'remove', address: addressSpec(lease(600)) }]
  assert.notDeepEqual(undo(removed, withAddresses(anAddress(3, '10.100.0.77/24'))), [])
})

test('the kernel must not remove a foreign address of the same network with ours', () => {
  const sysctls = { 3: { ...after.sysctls[3], 'ipv4.promote_secondaries': '0' } }
  const promoted = (ifindex: number) =>
    rollbackOf({ ...after, sysctls, addresses: [...after.addresses, anAddress(ifindex, '10.100.0.50/24')] }).filter(
      line => line.includes('promote'),
    )
  assert.deepEqual(promoted(3), ['ipv4.promote_secondaries 0 to 1', 'ipv4.promote_secondaries 1 to 0'])
  assert.deepEqual(promoted(2), [])
})

test('a NIC without changes is not in the plan', () => assert.deepEqual(planRollback(units, before).units, []))

test('a foreign address stays when the one beside it is removed', () => {
  const planned = rollbackOf({ ...after, addresses: [...after.addresses, anAddress(3, '10.100.0.50/24')] })
  assert.deepEqual(
    planned.filter(line => line.includes('address ')),
    ['remove address 10.100.0.10/24 noprefixroute'],
  )
})

test('a route of the main table that the agent removed comes back to its NIC', () => {
  const route = { family: 4, table: 254, destination: '172.16.0.0/12', metric: 5, onlink: false, protocol: 4 } as const
  const removed: Change[] = [{ kind: 'route', op: 'remove', route }]
  const elsewhere = { ...before, routes: [...before.routes, aRoute(2, '172.16.0.0/12', { metric: 5, protocol: 4 })] }
  for (const observed of [before, elsewhere])
    assert.deepEqual(undo(removed, observed), ['add route 172.16.0.0/12 table 254 metric 5 protocol 4'])
})
