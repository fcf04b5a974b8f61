import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from '../contract/hash.ts'
import type { Interface } from '../contract/interfaces.ts'
import { aLink, aNode, anAddress, anInterface, aRoute, aRule, macOf, primaryMac, theSettings } from './agent.fixture.ts'
import { inWords } from './change.ts'
import type { Observed } from './observed.ts'
import { recordPath } from './ownership.ts'
import { hostPaths } from './paths.ts'
import { type Plan, planRun } from './plan.ts'
import { afterUnits } from './predict.ts'
import { planUndo } from './rollback-plan.ts'
import { differences } from './verify.ts'

const paths = hostPaths

function plan(observed: Observed, interfaces: readonly Interface[], env: Record<string, string> = {}): Plan {
  return planRun({ interfaces, nodeAddresses: ['10.0.0.10'], settings: theSettings(env), paths, observed })
}

/** The node after a plan was carried out as it stands. */
function done(observed: Observed, interfaces: readonly Interface[], env: Record<string, string> = {}): Observed {
  return afterUnits(observed, plan(observed, interfaces, env).units)
}

const words = ({ units }: Plan) => units.map(unit => `${unit.name}: ${unit.changes.map(inWords).join('; ')}`)
const kernelWords = (planned: Plan) =>
  planned.units.flatMap(unit =>
    unit.changes.filter(change => change.kind !== 'file' && change.kind !== 'sysctl').map(inWords),
  )

test('a fresh NIC is named, sized, addressed, raised, routed and written down, in this order', () => {
  assert.deepEqual(words(plan(aNode(1), [anInterface(0)])), [
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

test('a NIC that is as wanted needs nothing', () => {
  const now = done(aNode(2), [anInterface(0), anInterface(1)])
  assert.deepEqual(words(plan(now, [anInterface(0), anInterface(1)])), [])
})

test('a value that somebody changed is put right, and nothing else', () => {
  const now = done(aNode(1), [anInterface(0)])
  const drifted = { ...now, links: now.links.map(link => (link.name === 'multinic0' ? { ...link, mtu: 1300 } : link)) }
  assert.deepEqual(words(plan(drifted, [anInterface(0)])), ['multinic0: mtu 1300 to 1450'])
})

test('an address that DHCP gave first is adopted: it stays, without its route in the main table', () => {
  const leased = aNode(1)
  const observed = {
    ...leased,
    links: leased.links.map(link => (link.name === 'ens4' ? { ...link, up: true } : link)),
    addresses: [...leased.addresses, anAddress(3, '10.100.0.10/24', { lifetime: { valid: 3600, preferred: 3600 } })],
    routes: [...leased.routes, aRoute(3, '10.100.0.0/24', { protocol: 2, scope: 253, source: '10.100.0.10' })],
  }
  const planned = plan(observed, [anInterface(0)])
  assert.deepEqual([...planned.refused], [])
  assert.deepEqual(kernelWords(planned).slice(0, 4), [
    'remove address 10.100.0.10/24',
    'rename ens4 to multinic0',
    'mtu 1500 to 1450',
    'add address 10.100.0.10/24 noprefixroute',
  ])
})

test('of several NICs in one subnet the lowest present one takes the traffic towards it', () => {
  const subnet = { cidr: '10.100.0.0/24', gateway: '10.100.0.1' }
  const wanted = [1, 2].map(id => anInterface(id, { ...subnet, address: `10.100.0.1${id}` }))
  const rules = kernelWords(plan(aNode(3), wanted)).filter(line => line.startsWith('add rule'))
  assert.deepEqual(rules, [
    'add rule from 10.100.0.11/32 lookup 101 priority 10101',
    'add rule to 10.100.0.0/24 lookup 101 priority 10101',
    'add rule from 10.100.0.12/32 lookup 102 priority 10102',
  ])
})

const reserved: Record<string, { observed: Partial<Observed>; env?: Record<string, string> }> = {
  'the subnet of the primary NIC': { observed: { addresses: [anAddress(2, '10.100.0.200/16')] } },
  'a network that somebody routes elsewhere': { observed: { routes: [aRoute(2, '10.100.0.128/25')] } },
  'the network of the API server': { observed: {}, env: { KUBERNETES_SERVICE_HOST: '10.100.0.99' } },
}
for (const [name, { observed, env }] of Object.entries(reserved)) {
  test(`${name} keeps its way out`, () => {
    const rules = kernelWords(plan(aNode(1, observed), [anInterface(0)], env)).filter(line => /rule to/.test(line))
    assert.deepEqual(rules, [])
  })
}

type Refused = [observed: Observed, told: string, wish?: Partial<Interface>, env?: Record<string, string>]
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
  'a NIC with a default route in somebody’s table': [
    plus({ routes: [aRoute(3, 'default', { table: 77 })] }),
    'DefaultRoute: ens4 carries a default route in table 77',
  ],
  'a NIC with a default route of IPv6': [
    plus({ routes: [aRoute(3, 'default', { family: 6, gateway: 'fe80::1', protocol: 9 })] }),
    'DefaultRoute: ens4 carries a default route via fe80::1',
  ],
  'a NIC that shares a default route with others': [
    plus({ routes: [{ ...aRoute(2, 'default'), devices: [2, 3] }] }),
    'DefaultRoute: ens4 carries a default route',
  ],
  'a NIC with the node’s address': [
    plus({ addresses: [anAddress(3, '10.0.0.10/32')] }),
    "NodeAddress: ens4 has the node's address 10.0.0.10/32",
  ],
  'a NIC on the way to the API server': [
    plus({ apiPath: { ifindex: 3 } }),
    'ApiServerPath: the way to the API server leaves by ens4',
  ],
  'a NIC with a way out while the name of the API server does not resolve': [
    plus({ routes: [aRoute(3, '172.16.0.0/12')] }, withLink(up)),
    'ApiServerPath: ens4 has a route to 172.16.0.0/12, and the API server api.example.com does not resolve: it may be the way there',
    {},
    { KUBERNETES_SERVICE_HOST: 'api.example.com', PREFLIGHT_ALLOW_UP: 'true' },
  ],
  'an address outside its network': [
    aNode(1),
    'AddressOutsideCidr: 10.200.0.10 is outside 10.100.0.0/24',
    { address: '10.200.0.10' },
  ],
  'a member of a bond': [withLink({ master: 'bond0' }), 'LinkHasMaster: ens4 belongs to bond0'],
  'a NIC that is up with an address of somebody else': [
    plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has address 192.0.2.7/24',
  ],
  'a NIC that is up with an IPv6 address of somebody else': [
    plus({ addresses: [anAddress(3, '2001:db8::7/64')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has address 2001:db8::7/64',
  ],
  'a NIC that is up with a route of somebody else': [
    plus({ routes: [aRoute(3, '172.16.0.0/12')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has a route to 172.16.0.0/12',
  ],
  'a NIC that a file of somebody else configures': [
    plus({ files: { '/etc/netplan/50-cloud-init.yaml': text(`match: {macaddress: ${macOf(0).toUpperCase()}}`) } }),
    `ForeignFile: /etc/netplan/50-cloud-init.yaml (written by cloud-init) configures ${macOf(0)}`,
  ],
  'a file of ours that is a symbolic link': [
    plus({ files: { '/etc/netplan/90-multinic0.yaml': { ...text(''), special: true } } }),
    'ForeignFile: /etc/netplan/90-multinic0.yaml is not a plain file: it is where ours has its place',
  ],
  'a file of ours that belongs to another user': [
    plus({ files: { '/etc/netplan/90-multinic0.yaml': { ...text(''), uid: 1000 } } }),
    'ForeignFile: /etc/netplan/90-multinic0.yaml belongs to user 1000, not to root: it is where ours has its place',
  ],
  'a name that another device has': [
    plus({ links: [aLink({ ifindex: 9, name: 'multinic0', mac: 'fa:16:3e:aa:aa:aa' })] }),
    'InterfaceNameInUse: multinic0 is the name of a device with fa:16:3e:aa:aa:aa',
  ],
  'a table with a blackhole of somebody else': [
    plus({ routes: [aRoute(0, '10.9.0.0/16', { table: 100, type: 6, devices: [] })] }),
    'RoutingTableInUse: table 100 holds a route to 10.9.0.0/16 in table 100',
  ],
  'a priority that somebody else’s rule has': [
    plus({ rules: [aRule({ plain: false, table: 254 })] }),
    'RulePriorityInUse: a rule with priority 10100 looks up table 254',
  ],
  'an address that another NIC of the node has': [
    plus({ addresses: [anAddress(2, '10.100.0.10/16')] }),
    'AddressConflict: ens3 of this node has 10.100.0.10/16',
  ],
  'an MTU beyond what the device allows': [
    withLink({ maxMtu: 1500 }),
    'MtuTooLarge: ens4 allows an MTU of at most 1500, not 9000',
    { mtu: 9000 },
  ],
  'two devices with one MAC': [
    plus({ links: [aLink({ ifindex: 9, name: 'ens9', mac: macOf(0) })] }),
    `NicAmbiguous: ens4 and ens9 both have ${macOf(0)}`,
  ],
  'a host whose network nobody that we know manages': [
    aNode(1, { directories: [paths.state] }),
    'BackendUnknown: no /etc/netplan, no /etc/NetworkManager/system-connections, no /etc/sysconfig/network-scripts',
  ],
}

for (const [name, [observed, told, wish, env]] of Object.entries(refusals)) {
  test(`${name} is refused, and nothing on it is touched`, () => {
    const planned = plan(observed, [anInterface(0, wish)], env)
    const refusal = planned.refused.get(0)
    assert.equal(refusal && `${refusal.reason}: ${refusal.message}`, told)
    assert.deepEqual(words(planned), [])
    // A person's word that others may use the NIC is no word about anything else.
    const allowed = plan(observed, [anInterface(0, wish)], { ...env, PREFLIGHT_ALLOW_UP: 'true' }).refused.get(0)
    assert.equal(allowed?.message, refusal?.reason === 'ForeignAddresses' ? undefined : refusal?.message)
  })
}

test('while the name of the API server does not resolve, a NIC without a way out is taken all the same', () => {
  const planned = plan(aNode(1), [anInterface(0)], { KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([planned.refused.size, planned.units.length], [0, 1])
})

test('an IPv6 gateway may be the address of the network itself', () => {
  const wanted = anInterface(0, { address: 'fd00::10', cidr: 'fd00::/64', gateway: 'fd00::' })
  const lines = kernelWords(plan(aNode(1), [wanted])).filter(line => line.includes('via'))
  assert.deepEqual(lines, ['add route ::/0 via fd00:: table 100 metric 100 protocol 4'])
})

test('an altname that the kernel refused is not asked for again before the next boot', () => {
  const refusing = aNode(1, { refusedAltnames: ['port-0'] })
  assert.ok(!kernelWords(plan(refusing, [anInterface(0)])).some(line => line.includes('altname')))
  assert.deepEqual(words(plan(done(refusing, [anInterface(0)]), [anInterface(0)])), [])
})

test('PREFLIGHT_ALLOW_UP lets a used NIC through, and leaves what others put there', () => {
  const observed = plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, withLink(up))
  const planned = plan(observed, [anInterface(0)], { PREFLIGHT_ALLOW_UP: 'true' })
  assert.deepEqual([...planned.refused], [])
  assert.ok(!kernelWords(planned).some(line => line.includes('192.0.2.7')))
})

test('a VLAN, a macvlan, the end of a cable, a bond and a member with the bond’s MAC are not the NIC', () => {
  const observed = plus({
    links: [
      aLink({ ifindex: 5, name: 'mac0', kind: 'macvlan' }),
      aLink({ ifindex: 6, name: 'veth0', kind: 'veth' }),
      aLink({ ifindex: 7, name: 'ens4.5', kind: 'vlan' }),
      aLink({ ifindex: 8, name: 'bond0', kind: 'bond' }),
      aLink({ ifindex: 9, name: 'ens9', permanentMac: 'fa:16:3e:99:99:99', master: 'bond0' }),
    ],
  })
  assert.deepEqual(
    plan(observed, [anInterface(0)]).accepted.map(({ link }) => link.name),
    ['ens4'],
  )
})

test('the primary’s subnet stays reserved when the primary itself is asked for', () => {
  const wanted = [
    anInterface(0, { address: '10.0.0.50', cidr: '10.0.0.0/24' }),
    anInterface(1, { macAddress: primaryMac }),
  ]
  const planned = plan(aNode(2), wanted)
  assert.deepEqual([...planned.refused.keys()], [1])
  assert.ok(!kernelWords(planned).some(line => line.includes('rule to')))
})

test('a NIC that goes and now carries the default route stays as it is, and its files too', () => {
  const now = done(aNode(1), [anInterface(0)])
  const carrying = { ...now, routes: [...now.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] }
  const planned = plan(carrying, [])
  assert.deepEqual(words(planned), [])
  assert.equal(planned.kept[0]?.refusal.reason, 'DefaultRoute')
})

test('a file by our name that is somebody else’s makes no NIC ours, and keeps one of ours until a person decides', () => {
  const path = '/etc/netplan/90-multinic0.yaml'
  const theirs = { ...text(`match: {macaddress: ${macOf(0)}}`), uid: 1000 }
  const never = plan(plus({ files: { [path]: theirs } }, withLink(up)), [])
  assert.deepEqual([words(never), never.kept], [[], []])
  const ours = done(aNode(1), [anInterface(0)])
  const taken = plan({ ...ours, files: { ...ours.files, [path]: theirs } }, [])
  assert.deepEqual(words(taken), [])
  assert.deepEqual(
    taken.kept.map(({ name, refusal }) => [name, refusal.reason]),
    [['multinic0', 'ForeignFile']],
  )
})

test('a record remembers what was there before us, through every later change', () => {
  const first = done(aNode(1), [anInterface(0)])
  const second = done(first, [anInterface(0, { mtu: 1400 })])
  const record = JSON.parse(second.files[recordPath(paths, macOf(0))]?.text ?? '')
  assert.deepEqual([record.former.name, record.former.mtu, record.former.up], ['ens4', 1500, false])
  const gone = done(second, [])
  assert.deepEqual(gone.links, aNode(1).links)
  assert.deepEqual(gone.files, {})
})

/** Any list of wanted interfaces over five NICs: numbers, addresses, families and MTUs as they come. */
const anyWish = fc
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

test('kernel settings that are no longer asked for go back to what they were, the guard of the default route first', () => {
  const fresh = aNode(1)
  const sysctls = { 3: { ...fresh.sysctls[3], 'ipv6.accept_ra_defrtr': '1' } }
  const before = done({ ...fresh, sysctls }, [anInterface(0)])
  const env = { NETWORK_ACCEPT_RA: 'true', NETWORK_SET_ARP_SYSCTLS: 'false' }
  const settings = plan(before, [anInterface(0)], env).units.flatMap(unit =>
    unit.changes.filter(change => change.kind === 'sysctl').map(inWords),
  )
  assert.deepEqual(settings, [
    'ipv6.accept_ra_defrtr 1 to 0',
    'ipv4.arp_announce 2 to 0',
    'ipv4.arp_ignore 1 to 0',
    'ipv6.accept_ra 0 to 1',
    'ipv6.autoconf 0 to 1',
  ])
  const after = done(before, [anInterface(0)], env)
  assert.deepEqual(plan(after, [anInterface(0)], env).units, [])
  // What somebody else turns off afterwards (networkd hears advertisements itself) is not ours to turn on.
  const managed = { ...after, sysctls: { 3: { ...after.sysctls[3], 'ipv6.accept_ra': '0' } } }
  assert.deepEqual(plan(managed, [anInterface(0)], env).units, [])
})

test('from any state to any other: what was asked is there, a second plan is empty, and undo gives the first one back', () => {
  fc.assert(
    fc.property(anyWish, anyWish, (first, second) => {
      const start = done(aNode(5), first)
      const planned = plan(start, second)
      const end = afterUnits(start, planned.units)
      for (const { nic, link } of planned.accepted) assert.deepEqual(differences(nic, link.ifindex, end), [])
      assert.equal(planned.accepted.length, second.length)
      assert.deepEqual(words(plan(end, second)), [])
      const undo = planUndo(planned.units, end)
      assert.deepEqual(undo.contested, [])
      assert.deepEqual(comparable(afterUnits(end, undo.units)), comparable(start))
    }),
    { numRuns: 100 },
  )
})
