import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from '../contract/hash.ts'
import type { Interface } from '../contract/interfaces.ts'
import {
  aLink,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  aRule,
  macOf,
  primaryMac,
  settingsFrom,
} from './agent.fixture.ts'
import { describeChange } from './change.ts'
import type { Observed } from './observed.ts'
import { recordPath } from './ownership.ts'
import { hostPaths } from './paths.ts'
import { type Plan, planRun } from './plan.ts'
import { predictState } from './predict.ts'
import { planRollback } from './rollback-plan.ts'
import { differences } from './verify.ts'

const paths = hostPaths

function plan(observed: Observed, interfaces: readonly Interface[], env: Record<string, string> = {}): Plan {
  return planRun({ interfaces, nodeAddresses: ['10.0.0.10'], settings: settingsFrom(env), paths, observed })
}

/** The node after the plan. */
function applied(observed: Observed, interfaces: readonly Interface[], env: Record<string, string> = {}): Observed {
  return predictState(observed, plan(observed, interfaces, env).units)
}

const changesOf = ({ units }: Plan) => units.map(unit => `${unit.name}: ${unit.changes.map(describeChange).join('; ')}`)
const kernelChangesOf = (planned: Plan) =>
  planned.units.flatMap(unit =>
    unit.changes.filter(change => change.kind !== 'file' && change.kind !== 'sysctl').map(describeChange),
  )

test('a new NIC gets name, MTU, address, link up, routes, rules and files, in this order', () => {
  assert.deepEqual(changesOf(plan(aNode(1), [anInterface(0)])), [
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
  const now = applied(aNode(2), [anInterface(0), anInterface(1)])
  assert.deepEqual(changesOf(plan(now, [anInterface(0), anInterface(1)])), [])
})

test('drift is corrected, and nothing else changes', () => {
  const now = applied(aNode(1), [anInterface(0)])
  const drifted = { ...now, links: now.links.map(link => (link.name === 'multinic0' ? { ...link, mtu: 1300 } : link)) }
  assert.deepEqual(changesOf(plan(drifted, [anInterface(0)])), ['multinic0: mtu 1300 to 1450'])
})

test('an address that DHCP configured is adopted: it stays, without its route in the main table', () => {
  const leased = aNode(1)
  const observed = {
    ...leased,
    links: leased.links.map(link => (link.name === 'ens4' ? { ...link, up: true } : link)),
    addresses: [...leased.addresses, anAddress(3, '10.100.0.10/24', { lifetime: { valid: 3600, preferred: 3600 } })],
    routes: [...leased.routes, aRoute(3, '10.100.0.0/24', { protocol: 2, scope: 253, source: '10.100.0.10' })],
  }
  const planned = plan(observed, [anInterface(0)])
  assert.deepEqual([...planned.refused], [])
  assert.deepEqual(kernelChangesOf(planned).slice(0, 4), [
    'remove address 10.100.0.10/24',
    'rename ens4 to multinic0',
    'mtu 1500 to 1450',
    'add address 10.100.0.10/24 noprefixroute',
  ])
})

test('of several NICs in one subnet, the one with the lowest index gets the rule to it', () => {
  const subnet = { cidr: '10.100.0.0/24', gateway: '10.100.0.1' }
  const requested = [1, 2].map(id => anInterface(id, { ...subnet, address: `10.100.0.1${id}` }))
  const rules = kernelChangesOf(plan(aNode(3), requested)).filter(line => line.startsWith('add rule'))
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
    const rules = kernelChangesOf(plan(aNode(1, observed), [anInterface(0)], env)).filter(line => /rule to/.test(line))
    assert.deepEqual(rules, [])
  })
}

type Refused = [observed: Observed, expected: string, requested?: Partial<Interface>, env?: Record<string, string>]
const up = { ifindex: 3, name: 'ens4', mac: macOf(0), up: true }
const withLink = (values: Partial<Parameters<typeof aLink>[0]>, more: Partial<Observed> = {}): Observed => {
  const node = aNode(1, more)
  return { ...node, links: node.links.map(link => (link.ifindex === 3 ? aLink({ ...link, ...values }) : link)) }
}
const plus = (more: Partial<Observed>, base = aNode(1)): Observed => ({
  ...base,
  links: [...base.links, ...(more.links ?? [])],
  addresses: [...base.addresses, ...(more.addresses ?? [])],
  routes: [...base.routes, ...(more.routes ?? [])],
  rules: [...base.rules, ...(more.rules ?? [])],
  files: { ...base.files, ...more.files },
  ...(more.apiPath ? { apiPath: more.apiPath } : {}),
})
const text = (content: string) => ({ text: content, mode: 0o600, uid: 0, gid: 0 })

const refusals: Record<string, Refused> = {
  'a NIC with a default route': [
    plus({ routes: [aRoute(3, 'default', { gateway: '10.100.0.1', metric: 200 })] }),
    'DefaultRoute: ens4 carries a default route via 10.100.0.1',
  ],
  'a NIC with a default route in a foreign table': [
    plus({ routes: [aRoute(3, 'default', { table: 77 })] }),
    'DefaultRoute: ens4 carries a default route in table 77',
  ],
  'a NIC with an IPv6 default route': [
    plus({ routes: [aRoute(3, 'default', { family: 6, gateway: 'fe80::1', protocol: 9 })] }),
    'DefaultRoute: ens4 carries a default route via fe80::1',
  ],
  'a NIC in a multipath default route': [
    plus({ routes: [{ ...aRoute(2, 'default'), devices: [2, 3] }] }),
    'DefaultRoute: ens4 carries a default route',
  ],
  'a NIC with the node’s address': [
    plus({ addresses: [anAddress(3, '10.0.0.10/32')] }),
    "NodeAddress: ens4 has the node's address 10.0.0.10/32",
  ],
  'a NIC with the route to the API server': [
    plus({ apiPath: { ifindex: 3 } }),
    'ApiServerPath: ens4 carries the route to the API server',
  ],
  'a NIC with a foreign route while the API server does not resolve': [
    plus({ routes: [aRoute(3, '172.16.0.0/12')] }, withLink(up)),
    'ApiServerPath: ens4 has a route to 172.16.0.0/12, which may lead to the API server: cannot resolve api.example.com',
    {},
    { KUBERNETES_SERVICE_HOST: 'api.example.com', PREFLIGHT_ALLOW_UP: 'true' },
  ],
  'an address outside its CIDR': [
    aNode(1),
    'AddressOutsideCidr: 10.200.0.10 is outside 10.100.0.0/24',
    { address: '10.200.0.10' },
  ],
  'a member of a bond': [withLink({ master: 'bond0' }), 'LinkHasMaster: ens4 is a member of bond0'],
  'a NIC that is up with a foreign address': [
    plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has address 192.0.2.7/24',
  ],
  'a NIC that is up with a foreign IPv6 address': [
    plus({ addresses: [anAddress(3, '2001:db8::7/64')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has address 2001:db8::7/64',
  ],
  'a NIC that is up with a foreign route': [
    plus({ routes: [aRoute(3, '172.16.0.0/12')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has a route to 172.16.0.0/12',
  ],
  'a NIC that a foreign file configures': [
    plus({ files: { '/etc/netplan/50-cloud-init.yaml': text(`match: {macaddress: ${macOf(0).toUpperCase()}}`) } }),
    `ForeignFile: /etc/netplan/50-cloud-init.yaml (written by cloud-init) configures ${macOf(0)}`,
  ],
  'a symbolic link at our path': [
    plus({ files: { '/etc/netplan/90-multinic0.yaml': { ...text(''), special: true } } }),
    'ForeignFile: /etc/netplan/90-multinic0.yaml is not a regular file; multinic needs this path',
  ],
  'a file of another user at our path': [
    plus({ files: { '/etc/netplan/90-multinic0.yaml': { ...text(''), uid: 1000 } } }),
    'ForeignFile: /etc/netplan/90-multinic0.yaml is owned by uid 1000, not by root; multinic needs this path',
  ],
  'a name that another device has': [
    plus({ links: [aLink({ ifindex: 9, name: 'multinic0', macAddress: 'fa:16:3e:aa:aa:aa' })] }),
    'InterfaceNameInUse: the device with MAC address fa:16:3e:aa:aa:aa is named multinic0',
  ],
  'a table with a foreign blackhole route': [
    plus({ routes: [aRoute(0, '10.9.0.0/16', { table: 100, type: 6, devices: [] })] }),
    'RoutingTableInUse: a route to 10.9.0.0/16 in table 100 is not from multinic',
  ],
  'a priority that a foreign rule uses': [
    plus({ rules: [aRule({ plain: false, table: 254 })] }),
    'RulePriorityInUse: a foreign rule with priority 10100 uses table 254',
  ],
  'an address that another NIC of the node has': [
    plus({ addresses: [anAddress(2, '10.100.0.10/16')] }),
    'AddressConflict: ens3 on this node already has 10.100.0.10/16',
  ],
  'an MTU above the maximum of the device': [
    withLink({ maxMtu: 1500 }),
    'MtuTooLarge: MTU 9000 exceeds the maximum of ens4, 1500',
    { mtu: 9000 },
  ],
  'two devices with one MAC address': [
    plus({ links: [aLink({ ifindex: 9, name: 'ens9', macAddress: macOf(0) })] }),
    `NicAmbiguous: ens4 and ens9 have the same MAC address ${macOf(0)}`,
  ],
  'a host without a known backend': [
    aNode(1, { directories: [paths.state] }),
    'BackendUnknown: no /etc/netplan, no /etc/NetworkManager/system-connections, no /etc/sysconfig/network-scripts',
  ],
}

for (const [name, [observed, expected, requested, env]] of Object.entries(refusals)) {
  test(`${name} is refused, and nothing changes`, () => {
    const planned = plan(observed, [anInterface(0, requested)], env)
    const refusal = planned.refused.get(0)
    assert.equal(refusal && `${refusal.reason}: ${refusal.message}`, expected)
    assert.deepEqual(changesOf(planned), [])
    // PREFLIGHT_ALLOW_UP overrides one reason only.
    const allowed = plan(observed, [anInterface(0, requested)], { ...env, PREFLIGHT_ALLOW_UP: 'true' }).refused.get(0)
    assert.equal(allowed?.message, refusal?.reason === 'ForeignAddresses' ? undefined : refusal?.message)
  })
}

test('while the API server does not resolve, a NIC without a foreign route is accepted', () => {
  const planned = plan(aNode(1), [anInterface(0)], { KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([planned.refused.size, planned.units.length], [0, 1])
})

test('an IPv6 gateway may be the address of the network itself', () => {
  const requested = anInterface(0, { address: 'fd00::10', cidr: 'fd00::/64', gateway: 'fd00::' })
  const lines = kernelChangesOf(plan(aNode(1), [requested])).filter(line => line.includes('via'))
  assert.deepEqual(lines, ['add route ::/0 via fd00:: table 100 metric 100 protocol 4'])
})

test('an altname that the kernel refused is not tried again before the next boot', () => {
  const refusing = aNode(1, { refusedAltnames: ['port-0'] })
  assert.ok(!kernelChangesOf(plan(refusing, [anInterface(0)])).some(line => line.includes('altname')))
  assert.deepEqual(changesOf(plan(applied(refusing, [anInterface(0)]), [anInterface(0)])), [])
})

test('PREFLIGHT_ALLOW_UP accepts a NIC in use and keeps its foreign addresses', () => {
  const observed = plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, withLink(up))
  const planned = plan(observed, [anInterface(0)], { PREFLIGHT_ALLOW_UP: 'true' })
  assert.deepEqual([...planned.refused], [])
  assert.ok(!kernelChangesOf(planned).some(line => line.includes('192.0.2.7')))
})

test('a VLAN, macvlan, veth, bond or bond member with the same MAC address is not the NIC', () => {
  const observed = plus({
    links: [
      aLink({ ifindex: 5, name: 'mac0', kind: 'macvlan' }),
      aLink({ ifindex: 6, name: 'veth0', kind: 'veth' }),
      aLink({ ifindex: 7, name: 'ens4.5', kind: 'vlan' }),
      aLink({ ifindex: 8, name: 'bond0', kind: 'bond' }),
      aLink({ ifindex: 9, name: 'ens9', permanentMacAddress: 'fa:16:3e:99:99:99', master: 'bond0' }),
    ],
  })
  assert.deepEqual(
    plan(observed, [anInterface(0)]).accepted.map(({ link }) => link.name),
    ['ens4'],
  )
})

test('the subnet of the primary NIC stays reserved when the primary NIC is requested', () => {
  const requested = [
    anInterface(0, { address: '10.0.0.50', cidr: '10.0.0.0/24' }),
    anInterface(1, { macAddress: primaryMac }),
  ]
  const planned = plan(aNode(2), requested)
  assert.deepEqual([...planned.refused.keys()], [1])
  assert.ok(!kernelChangesOf(planned).some(line => line.includes('rule to')))
})

test('an orphaned NIC that now carries the default route keeps its state and its files', () => {
  const now = applied(aNode(1), [anInterface(0)])
  const carrying = { ...now, routes: [...now.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] }
  const planned = plan(carrying, [])
  assert.deepEqual(changesOf(planned), [])
  assert.equal(planned.unremovable[0]?.refusal.reason, 'DefaultRoute')
})

test('a foreign file at our path makes no NIC ours, and prevents the removal of ours', () => {
  const path = '/etc/netplan/90-multinic0.yaml'
  const theirs = { ...text(`match: {macaddress: ${macOf(0)}}`), uid: 1000 }
  const never = plan(plus({ files: { [path]: theirs } }, withLink(up)), [])
  assert.deepEqual([changesOf(never), never.unremovable], [[], []])
  const ours = applied(aNode(1), [anInterface(0)])
  const taken = plan({ ...ours, files: { ...ours.files, [path]: theirs } }, [])
  assert.deepEqual(changesOf(taken), [])
  assert.deepEqual(
    taken.unremovable.map(({ name, refusal }) => [name, refusal.reason]),
    [['multinic0', 'ForeignFile']],
  )
})

test('a record keeps the former state through every later change', () => {
  const first = applied(aNode(1), [anInterface(0)])
  const second = applied(first, [anInterface(0, { mtu: 1400 })])
  const record = JSON.parse(second.files[recordPath(paths, macOf(0))]?.text ?? '')
  assert.deepEqual([record.former.name, record.former.mtu, record.former.up], ['ens4', 1500, false])
  const gone = applied(second, [])
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
  const before = applied({ ...fresh, sysctls }, [anInterface(0)])
  const env = { NETWORK_ACCEPT_RA: 'true', NETWORK_SET_ARP_SYSCTLS: 'false' }
  const settings = plan(before, [anInterface(0)], env).units.flatMap(unit =>
    unit.changes.filter(change => change.kind === 'sysctl').map(describeChange),
  )
  assert.deepEqual(settings, [
    'ipv6.accept_ra_defrtr 1 to 0',
    'ipv4.arp_announce 2 to 0',
    'ipv4.arp_ignore 1 to 0',
    'ipv6.accept_ra 0 to 1',
    'ipv6.autoconf 0 to 1',
  ])
  const after = applied(before, [anInterface(0)], env)
  assert.deepEqual(plan(after, [anInterface(0)], env).units, [])
  // Another program may turn it off afterwards: networkd handles advertisements itself.
  const managed = { ...after, sysctls: { 3: { ...after.sysctls[3], 'ipv6.accept_ra': '0' } } }
  assert.deepEqual(plan(managed, [anInterface(0)], env).units, [])
})

test('from any state to any other: the desired state is reached, a second plan is empty, and a rollback restores the first', () => {
  fc.assert(
    fc.property(anyRequest, anyRequest, (first, second) => {
      const start = applied(aNode(5), first)
      const planned = plan(start, second)
      const end = predictState(start, planned.units)
      for (const { nic, link } of planned.accepted) assert.deepEqual(differences(nic, link.ifindex, end), [])
      assert.equal(planned.accepted.length, second.length)
      assert.deepEqual(changesOf(plan(end, second)), [])
      const rollback = planRollback(planned.units, end)
      assert.deepEqual(rollback.conflicts, [])
      assert.deepEqual(comparable(predictState(end, rollback.units)), comparable(start))
    }),
    { numRuns: 100 },
  )
})
