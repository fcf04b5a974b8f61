import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from '../contract/hash.ts'
import type { Interface } from '../contract/interfaces.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  kernelChangesOf,
  macOf,
  planOf,
  primaryMac,
} from './agent.fixture.ts'
import { describeChange } from './change.ts'
import type { Observed } from './observed.ts'
import { recordPath } from './ownership.ts'
import { hostPaths } from './paths.ts'
import { predictState } from './predict.ts'
import { planRollback } from './rollback-plan.ts'
import { differences } from './verify.ts'

test('a new NIC gets name, MTU, address, link up, routes, rules and files, in this order', () => {
  assert.deepEqual(changesOf(planOf(aNode(1), [anInterface(0)])), [
    `multinic0: ${[
      'ipv4.arp_ignore 0 to 1',
      'ipv4.arp_announce 0 to 2',
      'ipv4.rp_filter 0 to 2',
      'ipv6.accept_ra 1 to 0',
      'ipv6.autoconf 1 to 0',
      'rename ens4 to multinic0',
      'mtu 1500 to 1450',
      'add address 10.100.0.10/24 noprefixroute',
      'link up',
      'add route 10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
      'add route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 protocol 4',
      'add rule from 10.100.0.10/32 lookup 100 priority 10100',
      'add rule to 10.100.0.0/24 lookup 100 priority 10100',
      'add altname port-0',
      'write /etc/netplan/90-multinic0.yaml',
      'write /etc/systemd/network/05-multinic0.link',
      'write /etc/systemd/network/05-multinic0.network',
      'write /etc/sysctl.d/90-multinic0.conf',
      'write /var/lib/multinic/nics/fa163e000001.json',
    ].join('; ')}`,
  ])
})

test('a NIC in the desired state needs no change', () => {
  const now = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  assert.deepEqual(changesOf(planOf(now, [anInterface(0), anInterface(1)])), [])
})

test('drift is corrected, and nothing else changes', () => {
  const now = afterPlan(aNode(1), [anInterface(0)])
  const drifted = { ...now, links: now.links.map(link => (link.name === 'multinic0' ? { ...link, mtu: 1300 } : link)) }
  assert.deepEqual(changesOf(planOf(drifted, [anInterface(0)])), ['multinic0: mtu 1300 to 1450'])
})

test('an address that DHCP configured is adopted: it stays, without its route in the main table', () => {
  const leased = aNode(1)
  const observed = {
    ...leased,
    links: leased.links.map(link => (link.name === 'ens4' ? { ...link, up: true } : link)),
    addresses: [...leased.addresses, anAddress(3, '10.100.0.10/24', { lifetime: { valid: 3600, preferred: 3600 } })],
    routes: [...leased.routes, aRoute(3, '10.100.0.0/24', { protocol: 2, scope: 253, source: '10.100.0.10' })],
  }
  const planned = planOf(observed, [anInterface(0)])
  assert.deepEqual([...planned.refused], [])
  // The kernel removes the route together with the old address.
  assert.deepEqual(kernelChangesOf(planned).slice(0, 6), [
    'rename ens4 to multinic0',
    'mtu 1500 to 1450',
    'add address 10.100.0.10/32 noprefixroute',
    'remove address 10.100.0.10/24',
    'add address 10.100.0.10/24 noprefixroute',
    'remove address 10.100.0.10/32 noprefixroute',
  ])
})

test('of several NICs in one subnet, the one with the lowest index gets the rule to it', () => {
  const subnet = { cidr: '10.100.0.0/24', gateway: '10.100.0.1' }
  const requested = [1, 2].map(id => anInterface(id, { ...subnet, address: `10.100.0.1${id}` }))
  const rules = kernelChangesOf(planOf(aNode(3), requested)).filter(line => line.startsWith('add rule'))
  assert.deepEqual(rules, [
    'add rule from 10.100.0.11/32 lookup 101 priority 10101',
    'add rule to 10.100.0.0/24 lookup 101 priority 10101',
    'add rule from 10.100.0.12/32 lookup 102 priority 10102',
  ])
})

const reserved: Record<string, { observed: Partial<Observed>; env?: Record<string, string> }> = {
  'the subnet of the primary NIC': { observed: { addresses: [anAddress(2, '10.100.0.200/16')] } },
  'a network with a foreign route': { observed: { routes: [aRoute(2, '10.100.0.128/25')] } },
  'the network of the API server': { observed: {}, env: { KUBERNETES_SERVICE_HOST: '10.100.0.99' } },
}
for (const [name, { observed, env }] of Object.entries(reserved)) {
  test(`${name} gets no rule`, () => {
    const rules = kernelChangesOf(planOf(aNode(1, observed), [anInterface(0)], env)).filter(line =>
      /rule to/.test(line),
    )
    assert.deepEqual(rules, [])
  })
}

test('an IPv6 gateway may be the address of the network itself', () => {
  const requested = anInterface(0, { address: 'fd00::10', cidr: 'fd00::/64', gateway: 'fd00::' })
  const lines = kernelChangesOf(planOf(aNode(1), [requested])).filter(line => line.includes('via'))
  assert.deepEqual(lines, ['add route ::/0 via fd00:: table 100 metric 100 protocol 4'])
})

test('an altname that the kernel refused is not tried again before the next boot', () => {
  const refusing = aNode(1, { refusedAltnames: ['port-0'] })
  assert.ok(!kernelChangesOf(planOf(refusing, [anInterface(0)])).some(line => line.includes('altname')))
  assert.deepEqual(changesOf(planOf(afterPlan(refusing, [anInterface(0)]), [anInterface(0)])), [])
})

test('the subnet of the primary NIC stays reserved when the primary NIC is requested', () => {
  const requested = [
    anInterface(0, { address: '10.0.0.50', cidr: '10.0.0.0/24' }),
    anInterface(1, { macAddress: primaryMac }),
  ]
  const planned = planOf(aNode(2), requested)
  assert.deepEqual([...planned.refused.keys()], [1])
  assert.ok(!kernelChangesOf(planned).some(line => line.includes('rule to')))
})

test('an orphaned NIC that now carries the default route keeps its state and its files', () => {
  const now = afterPlan(aNode(1), [anInterface(0)])
  const carrying = { ...now, routes: [...now.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] }
  const planned = planOf(carrying, [])
  assert.deepEqual(changesOf(planned), [])
  assert.equal(planned.unremovable[0]?.refusal.reason, 'DefaultRoute')
})

test('a record keeps the former state through every later change', () => {
  const first = afterPlan(aNode(1), [anInterface(0)])
  const second = afterPlan(first, [anInterface(0, { mtu: 1400 })])
  const record = JSON.parse(second.files[recordPath(hostPaths, macOf(0))]?.text ?? '')
  assert.deepEqual([record.former.name, record.former.mtu, record.former.up], ['ens4', 1500, false])
  const gone = afterPlan(second, [])
  assert.deepEqual(gone.links, aNode(1).links)
  assert.deepEqual(gone.files, {})
})

/** Any list of requested interfaces over five NICs, with any index, address, family and MTU. */
const anyRequest = fc
  .uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 5 })
  .chain(ids =>
    fc.tuple(
      fc.constant(ids),
      fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: ids.length, maxLength: ids.length }),
      fc.array(
        fc.record({
          host: fc.integer({ min: 2, max: 250 }),
          mtu: fc.constantFrom(undefined, 1400, 1450),
          v6: fc.boolean(),
          gateway: fc.boolean(),
          route: fc.boolean(),
        }),
        { minLength: ids.length, maxLength: ids.length },
      ),
    ),
  )
  .map(([ids, macs, values]) =>
    ids.map((id, index): Interface => {
      const { host = 2, mtu, v6 = false, gateway = false, route = false } = values[index] ?? {}
      const net = macs[index] ?? 0
      return {
        index: id,
        name: `multinic${id}`,
        macAddress: macOf(net),
        portId: `port-${net}`,
        address: `10.${100 + net}.0.${host}`,
        cidr: `10.${100 + net}.0.0/24`,
        ...(mtu === undefined ? {} : { mtu }),
        ...(v6 ? { addresses: [`fd00:${net}::${host}/64`] } : {}),
        ...(gateway ? { gateway: `10.${100 + net}.0.1` } : {}),
        ...(route ? { routes: [{ destination: '172.16.0.0/12', nexthop: `10.${100 + net}.0.254` }] } : {}),
      }
    }),
  )

const comparable = (observed: Observed) => ({
  ...observed,
  links: observed.links.map(link => ({ ...link, carrier: false })),
  addresses: sorted(observed.addresses),
  routes: sorted(observed.routes),
  rules: sorted(observed.rules),
  files: Object.fromEntries(Object.entries(observed.files).sort()),
})
const sorted = <T>(items: readonly T[]) => items.map(item => canonicalJson(item)).sort()

test('sysctls that are no longer desired are restored, accept_ra_defrtr first', () => {
  const fresh = aNode(1)
  const sysctls = { 3: { ...fresh.sysctls[3], 'ipv6.accept_ra_defrtr': '1' } }
  const before = afterPlan({ ...fresh, sysctls }, [anInterface(0)])
  const env = { NETWORK_ACCEPT_RA: 'true', NETWORK_SET_ARP_SYSCTLS: 'false' }
  const settings = planOf(before, [anInterface(0)], env).units.flatMap(unit =>
    unit.changes.filter(change => change.kind === 'sysctl').map(describeChange),
  )
  assert.deepEqual(settings, [
    'ipv6.accept_ra_defrtr 1 to 0',
    'ipv4.arp_announce 2 to 0',
    'ipv4.arp_ignore 1 to 0',
    'ipv6.accept_ra 0 to 1',
    'ipv6.autoconf 0 to 1',
  ])
  const after = afterPlan(before, [anInterface(0)], env)
  assert.deepEqual(planOf(after, [anInterface(0)], env).units, [])
  // Another program may turn it off afterwards: networkd handles advertisements itself.
  const managed = { ...after, sysctls: { 3: { ...after.sysctls[3], 'ipv6.accept_ra': '0' } } }
  assert.deepEqual(planOf(managed, [anInterface(0)], env).units, [])
})

test('from any state to any other: the desired state is reached, a second plan is empty, and a rollback restores the first', () => {
  fc.assert(
    fc.property(anyRequest, anyRequest, (first, second) => {
      const start = afterPlan(aNode(5), first)
      const planned = planOf(start, second)
      const end = predictState(start, planned.units)
      for (const { nic, link } of planned.accepted) assert.deepEqual(differences(nic, link.ifindex, end), [])
      assert.equal(planned.accepted.length, second.length)
      assert.deepEqual(changesOf(planOf(end, second)), [])
      const rollback = planRollback(planned.units, end)
      assert.deepEqual(rollback.conflicts, [])
      assert.deepEqual(comparable(predictState(end, rollback.units)), comparable(start))
    }),
    { numRuns: 100 },
  )
})
