/** Which devices, addresses and networks of a node count as those of multinic. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { describeChange } from '../state/change.ts'
import type { Observed } from '../state/observed.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  kernelChangesOf,
  planOf,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { planRun } from './plan.ts'

const withAddress = (ifindex: number, cidr: string, base: Observed): Observed => ({
  ...base,
  addresses: [...base.addresses, anAddress(ifindex, cidr)],
})

test('an address may move from one requested NIC to another', () => {
  const planned = planOf(withAddress(3, '10.101.0.10/24', aNode(2)), [anInterface(0), anInterface(1)])
  assert.deepEqual([...planned.refused], [])
})

test('the network that a requested NIC already has is not one of the node', () => {
  const connected = aRoute(3, '10.100.0.0/24', { protocol: 2, source: '10.100.0.10' })
  const base = withAddress(3, '10.100.0.10/24', aNode(1))
  const planned = planOf({ ...base, routes: [...base.routes, connected] }, [anInterface(0)])
  assert.deepEqual(planned.accepted[0]?.nic.onlyBound, [])
})

test('the network of a NIC that failed in this run is not one of the node either', () => {
  const requested = [anInterface(0), anInterface(1, { address: '10.100.0.11', cidr: '10.100.0.0/24' })]
  const observed = afterPlan(aNode(2), [anInterface(0)])
  const connected = aRoute(3, '10.100.0.0/24', { protocol: 2 })
  const planned = planRun({
    ...{ interfaces: requested, nodeAddresses: ['10.0.0.10'], settings: settingsFrom(), paths: hostPaths },
    observed: { ...observed, routes: [...observed.routes, connected] },
    skip: new Set([0]),
  })
  assert.deepEqual(
    planned.accepted.map(({ nic }) => [nic.index, nic.onlyBound]),
    [[1, []]],
  )
})

test('a static address that is requested keeps its connected route, with the metric of the NIC', () => {
  const { units } = planOf(withAddress(3, '10.100.0.10/24', aNode(1)), [anInterface(0)])
  const addresses = units.flatMap(({ changes }) => changes.filter(change => change.kind === 'address'))
  assert.deepEqual(
    addresses.map(({ op, address, changed }) => [op, address, changed]),
    [
      ['remove', { cidr: '10.100.0.10/24', noPrefixRoute: false }, true],
      ['add', { cidr: '10.100.0.10/24', noPrefixRoute: false, metric: 20_000 }, true],
    ],
  )
  const metric = 20_000
  const present = afterPlan(aNode(1), [anInterface(0)])
  const kept = present.addresses.map(entry =>
    entry.ifindex === 3 ? { ...entry, noPrefixRoute: false, metric } : entry,
  )
  assert.deepEqual(kernelChangesOf(planOf({ ...present, addresses: kept }, [anInterface(0)])), [])
})

test('a requested link-local address is set once', () => {
  const requested = [anInterface(0, { addresses: ['fe80::100/64'] })]
  const present = anAddress(3, 'fe80::100/64', { linkLocal: true, noPrefixRoute: true })
  const first = planOf({ ...aNode(1), addresses: [...aNode(1).addresses, present] }, requested)
  assert.ok(!kernelChangesOf(first).some(line => line.includes('address fe80::100')))
  const now = afterPlan(aNode(1), requested)
  const addresses = now.addresses.map(entry => ({ ...entry, linkLocal: entry.cidr.startsWith('fe80:') }))
  assert.deepEqual(changesOf(planOf({ ...now, addresses }, requested)), [])
})

test('a NIC that NetworkManager has again is released, although nothing else differs', () => {
  const directories = [hostPaths.networkManager, hostPaths.state]
  const now = afterPlan(aNode(1, { managers: { 3: 'other' }, directories }), [anInterface(0)])
  const { units } = planOf({ ...now, managers: { 3: 'other' } }, [anInterface(0)])
  assert.deepEqual(
    units.flatMap(({ changes }) => changes.map(describeChange)),
    ['release from NetworkManager'],
  )
})
