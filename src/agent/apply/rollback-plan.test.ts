import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '../../contract/hash.ts'
import { hostPaths } from '../paths.ts'
import { describeChange, lossesOf } from '../state/change.ts'
import { addressSpec } from '../state/nic-state.ts'
import type { Observed } from '../state/observed.ts'
import { predictState } from '../state/predict.ts'
import { unitsDone } from '../state/unit.ts'
import { afterPlan, aNode, anAddress, anInterface, planOf } from '../test/agent.fixture.ts'
import { planRollback } from './rollback-plan.ts'

const before = aNode(1)
const units = planOf(before, [anInterface(0)]).units.filter(({ purpose }) => purpose !== 'node')
const after = predictState(before, units)
const netplan = '/etc/netplan/90-multinic0.yaml'

const rollbackFrom = (observed: Observed, only?: 'files') => {
  const plan = planRollback(units, observed, only)
  return { changes: plan.units.flatMap(unit => unit.changes.map(describeChange)), conflicts: plan.conflicts }
}

test('changes that were not made need no rollback', () => {
  assert.deepEqual(rollbackFrom(before), { changes: [], conflicts: [] })
})

test('a link goes down before it accepts router advertisements again', () => {
  const { changes } = rollbackFrom(after)
  assert.ok(changes.indexOf('link down') < changes.indexOf('ipv6.accept_ra 0 to 1'))
  assert.ok(
    changes.indexOf('remove rule from 10.100.0.0/24 iif lo lookup 100 priority 10070') < changes.indexOf('link down'),
  )
})

test('after a reboot only files are rolled back', () => {
  const rebooted = { ...before, files: after.files }
  const { changes, conflicts } = rollbackFrom(rebooted, 'files')
  assert.ok(changes.length > 0 && changes.every(change => change.startsWith('remove /')))
  assert.deepEqual(conflicts, [])
})

test('a value that someone else changed meanwhile is reported and not rolled back', () => {
  const modified: Observed = {
    ...after,
    links: after.links.map(link => (link.name === 'multinic0' ? { ...link, mtu: 1333 } : link)),
    files: { ...after.files, [netplan]: { text: 'mine now', mode: 0o600, uid: 0, gid: 0 } },
  }
  const { changes, conflicts } = rollbackFrom(modified)
  assert.deepEqual(conflicts, [
    'multinic0: mtu has neither the old nor the new value',
    `multinic0: file ${netplan} has neither the old nor the new value`,
  ])
  assert.ok(!changes.some(change => change.includes('mtu') || change.includes(netplan)))
  assert.ok(changes.includes('rename multinic0 to ens4'))
})

test('for a device that is gone, or another one with its ifindex, only rules and files are rolled back', () => {
  const replaced: Observed = {
    ...after,
    links: after.links.map(link =>
      link.ifindex === 3 ? { ...link, macAddress: 'fa:16:3e:77:77:77', name: 'ens9' } : link,
    ),
  }
  const { changes } = rollbackFrom(replaced)
  assert.ok(
    changes.every(change => change.startsWith('remove rule') || change.startsWith('remove /')),
    changes.join(),
  )
  assert.equal(changes.filter(change => change.startsWith('remove rule')).length, 4)
})

test('an address whose options change is never absent, also if the agent was killed halfway', () => {
  const [unit] = units
  assert.ok(unit)
  const leased = anAddress(3, '10.100.0.10/24', { lifetime: { valid: 600, preferred: 600 } })
  const second = anAddress(3, '10.100.0.10/32', { noPrefixRoute: true })
  const changes = [
    { kind: 'address', op: 'add', address: { cidr: second.cidr, noPrefixRoute: true }, inPlace: true },
    { kind: 'address', op: 'remove', address: addressSpec(leased), inPlace: true },
  ] as const
  const killed: Observed = { ...before, addresses: [...before.addresses, second] }
  const { units: planned } = planRollback([{ ...unit, changes: [...changes] }], killed)
  assert.deepEqual(planned[0]?.changes.map(describeChange), [
    'add address 10.100.0.10/24',
    'remove address 10.100.0.10/32 noprefixroute',
  ])
})

test('a removal that ends with a return to NetworkManager is rolled back with its addresses and routes', () => {
  const directories = [hostPaths.networkManager, hostPaths.state]
  const managed = aNode(1, { managers: { 3: 'other' }, directories })
  const configured = afterPlan(managed, [anInterface(0, { addresses: ['fd00::10/64'] })])
  const removal = planOf(configured, []).units
  const returned = predictState(configured, removal)
  assert.equal(returned.managers[3], 'other')
  const rolledBack = predictState(returned, planRollback(removal, returned).units)
  assert.equal(rolledBack.managers[3], 'none')
  assert.ok(configured.routes.some(({ metric }) => metric === 20_000))
  const restored = ({ addresses, routes }: Observed) =>
    new Set([...addresses, ...routes].map(item => canonicalJson(item)))
  assert.deepEqual(restored(rolledBack), restored(configured))
})

/** The value of the sysctl when the agent was killed, and the expected changes of it and of addresses. */
const killedAt = {
  'before its changes': { value: '0', expected: [] },
  'while addresses are promoted': {
    value: '1',
    expected: ['remove address 10.100.0.20/24 noprefixroute', 'add address 10.100.0.10/24 noprefixroute'],
  },
}

for (const [when, { value, expected }] of Object.entries(killedAt))
  test(`the promotion of addresses ends with the rollback of an agent that was killed ${when}`, () => {
    const sysctls = { 3: { ...after.sysctls[3], 'ipv4.promote_secondaries': '0' } }
    const start = { ...after, sysctls, addresses: [...after.addresses, anAddress(3, '10.100.0.50/24')] }
    const plan = planOf(start, [anInterface(0, { address: '10.100.0.20' })])
    const planned = plan.units.flatMap(unit => unit.changes.map(describeChange))
    assert.equal(planned[0], 'ipv4.promote_secondaries 0 to 1')
    assert.ok(
      planned.indexOf('ipv4.promote_secondaries 1 to 0') > planned.findLastIndex(text => text.includes(' address ')),
    )
    const all = predictState(start, plan.units)
    const killed =
      value === '0'
        ? start
        : { ...all, sysctls: { 3: { ...all.sysctls[3], 'ipv4.promote_secondaries': '1' } }, files: start.files }
    const { units: restored, conflicts } = planRollback(plan.units, killed)
    const changes = restored.flatMap(unit => unit.changes.map(describeChange))
    assert.deepEqual(conflicts, [])
    assert.deepEqual(
      changes.filter(text => text.includes(' address ')),
      expected,
    )
    assert.equal(changes.at(-1), value === '0' ? undefined : 'ipv4.promote_secondaries 1 to 0')
  })

test('the former state does not name the promotion of addresses, which the agent never leaves changed', () => {
  const sysctls = { 3: { ...before.sysctls[3], 'ipv4.promote_secondaries': '0' } }
  const files = planOf({ ...before, sysctls }, [anInterface(0)]).units.flatMap(({ changes }) =>
    changes.flatMap(change => (change.kind === 'file' ? [change.to?.text ?? ''] : [])),
  )
  assert.ok(files.some(text => text.includes('rp_filter')))
  assert.ok(files.every(text => !text.includes('promote_secondaries')))
})

for (const [when, done] of Object.entries({ 'is killed during': true, 'fails with': false }))
  test(`a link that is down because the agent ${when} its rename is up again, with its IPv6 addresses`, () => {
    const addresses = ['fd00::10/64']
    const start = afterPlan(before, [anInterface(0, { addresses })])
    const renamed = planOf(start, [anInterface(0, { index: 1, name: 'multinic1', addresses })]).units
    const down: Observed = {
      ...start,
      links: start.links.map(link => (link.name === 'multinic0' ? { ...link, up: false } : link)),
      addresses: start.addresses.filter(({ cidr }) => cidr !== addresses[0]),
    }
    const failed = new Map(renamed.map(({ group }) => [group, '']))
    const { units: restored } = planRollback(done ? renamed : unitsDone(renamed, failed, new Set()), down)
    const changes = restored.flatMap(unit => unit.changes.map(describeChange))
    assert.deepEqual(
      changes.filter(text => /link|address/.test(text)),
      ['add address fd00::10/64 noprefixroute', 'link up'],
    )
  })

test('a NIC that was up before keeps what its link loses during the rename of a rollback', () => {
  const start = { ...before, links: before.links.map(link => (link.ifindex === 3 ? { ...link, up: true } : link)) }
  const foreign = anAddress(3, 'fd00:9::9/64')
  const shared = { ...start, addresses: [...start.addresses, foreign] }
  const planned = planOf(shared, [anInterface(0)], { PREFLIGHT_ALLOW_UP: 'true' }).units
  const { units: restored } = planRollback(planned, predictState(shared, planned))
  const rename = restored.flatMap(({ changes }) => changes).find(({ kind }) => kind === 'name')
  assert.deepEqual(rename && lossesOf(rename).map(describeChange), ['link down', 'remove address fd00:9::9/64'])
})

test('a link that somebody set up after its removal is up again after the rename of the rollback', () => {
  const down = { ...after, links: after.links.map(link => (link.ifindex === 3 ? { ...link, up: false } : link)) }
  const removal = planOf(down, []).units
  const removed = predictState(down, removal)
  const lossesIn = (observed: Observed) =>
    planRollback(removal, observed).units.flatMap(({ changes }) => changes.flatMap(lossesOf).map(describeChange))
  assert.deepEqual(lossesIn(removed), [])
  const up = { ...removed, links: removed.links.map(link => (link.ifindex === 3 ? { ...link, up: true } : link)) }
  assert.deepEqual(lossesIn(up), ['link down'])
})

test('a device that is gone is no conflict', () => {
  const gone = { ...after, links: before.links.filter(({ ifindex }) => ifindex !== 3) }
  const { changes, conflicts } = rollbackFrom(gone)
  assert.deepEqual(conflicts, [])
  assert.equal(changes.filter(change => change.startsWith('remove /')).length, 5)
})

test('a static address that came back as a lease is static again', () => {
  const [unit] = units
  assert.ok(unit)
  const fixed = anAddress(3, '10.100.0.10/24')
  const changes = [{ kind: 'address', op: 'remove', address: addressSpec(fixed) }] as const
  const leased = { ...fixed, lifetime: { valid: 600, preferred: 600 } }
  const now = { ...before, addresses: [...before.addresses, leased] }
  const { units: restored, conflicts } = planRollback([{ ...unit, changes: [...changes] }], now)
  assert.deepEqual(conflicts, [])
  const back = restored.flatMap(({ changes: list }) => list).filter(change => change.kind === 'address')
  assert.ok(back.some(({ op, address }) => op === 'add' && address.cidr === fixed.cidr && !address.lifetime))
})
