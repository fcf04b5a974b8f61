/** The guards: which NICs the agent refuses to change, and why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { hostPaths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'
import {
  afterPlan,
  aLink,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  kernelChangesOf,
  macOf,
  planOf,
} from '../test/agent.fixture.ts'

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
const asDesired = { table: 100, protocol: 4, metric: 100, source: '10.100.0.10' }

const refusals: Record<string, Refused> = {
  'a NIC with a default route': [
    plus({ routes: [aRoute(3, 'default', { gateway: '10.100.0.1', metric: 200 })] }),
    'CarriesDefaultRoute: ens4 carries a default route via 10.100.0.1',
  ],
  'a NIC with a default route in a foreign table': [
    plus({ routes: [aRoute(3, 'default', { table: 77 })] }),
    'CarriesDefaultRoute: ens4 carries a default route in table 77',
  ],
  'a NIC with an IPv6 default route': [
    plus({ routes: [aRoute(3, 'default', { family: 6, gateway: 'fe80::1', protocol: 9 })] }),
    'CarriesDefaultRoute: ens4 carries a default route via fe80::1',
  ],
  'a NIC in a multipath default route': [
    plus({ routes: [{ ...aRoute(2, 'default'), devices: [2, 3] }] }),
    'CarriesDefaultRoute: ens4 carries a default route',
  ],
  'a NIC with the node’s address': [
    plus({ addresses: [anAddress(3, '10.0.0.10/32')] }),
    "HasNodeAddress: ens4 has the node's address 10.0.0.10/32",
  ],
  'a NIC with the route to the API server': [
    plus({ apiPath: { ifindex: 3 } }),
    'CarriesApiServerRoute: ens4 carries the route to the API server',
  ],
  'a NIC with a foreign route while the API server does not resolve': [
    plus({ routes: [aRoute(3, '172.16.0.0/12')] }, withLink(up)),
    'CarriesApiServerRoute: ens4 has a route to 172.16.0.0/12, which may lead to the API server: cannot resolve api.example.com',
    {},
    { KUBERNETES_SERVICE_HOST: 'api.example.com', PREFLIGHT_ALLOW_UP: 'true' },
  ],
  'a NIC with a static link-local route while the API server does not resolve': [
    plus({ routes: [aRoute(3, 'fe80::/64')] }, withLink(up)),
    'CarriesApiServerRoute: ens4 has a route to fe80::/64, which may lead to the API server: cannot resolve api.example.com',
    {},
    { KUBERNETES_SERVICE_HOST: 'api.example.com', PREFLIGHT_ALLOW_UP: 'true' },
  ],
  'a NIC with a static multicast route while the API server does not resolve': [
    plus({ routes: [aRoute(3, 'ff00::/8')] }, withLink(up)),
    'CarriesApiServerRoute: ens4 has a route to ff00::/8, which may lead to the API server: cannot resolve api.example.com',
    {},
    { KUBERNETES_SERVICE_HOST: 'api.example.com', PREFLIGHT_ALLOW_UP: 'true' },
  ],
  'an address outside its CIDR': [
    aNode(1),
    'AddressOutsideCidr: 10.200.0.10 is outside 10.100.0.0/24',
    { address: '10.200.0.10' },
  ],
  'two routers for one destination': [
    aNode(1),
    'RouteInvalid: cannot set the route to 172.16.0.0/12 via 10.100.0.3: another one goes via 10.100.0.2',
    {
      routes: [
        { destination: '172.16.0.0/12', nexthop: '10.100.0.2' },
        { destination: '172.16.5.7/12', nexthop: '10.100.0.3' },
      ],
    },
  ],
  'a default route beside the gateway': [
    aNode(1),
    'RouteInvalid: cannot set the route to 0.0.0.0/0 via 10.100.0.2: another one goes via 10.100.0.1',
    { routes: [{ destination: '0.0.0.0/0', nexthop: '10.100.0.2' }] },
  ],
  'an IPv6 route on a NIC without IPv6': [
    aNode(1),
    'RouteInvalid: cannot set the route to fd00:9::/48 via fd00::1: the NIC has no IPv6 address',
    { routes: [{ destination: 'fd00:9::/48', nexthop: 'fd00::1' }] },
  ],
  "a route to the NIC's own network": [
    aNode(1),
    'RouteInvalid: cannot set the route to 10.100.0.0/24 via 10.100.0.2: it is the network of the NIC itself',
    { routes: [{ destination: '10.100.0.0/24', nexthop: '10.100.0.2' }] },
  ],
  'a route without policy routing': [
    aNode(1),
    'RouteInvalid: cannot set the route to 172.16.0.0/12: policy routing is off',
    { routes: [{ destination: '172.16.0.0/12', nexthop: '10.100.0.2' }] },
    { NETWORK_POLICY_ROUTING_ENABLED: 'false' },
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
  'a NIC that is up with a foreign local address, by a route alone': [
    plus({ routes: [aRoute(3, '192.0.2.7/32', { type: 2, table: 255 })] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has a route to 192.0.2.7/32 in table 255',
  ],
  'a NIC that is up with a static route to its network': [
    plus({ addresses: [anAddress(3, '10.100.0.10/24')], routes: [aRoute(3, '10.100.0.0/24')] }, withLink(up)),
    'ForeignAddresses: ens4 is up and has a route to 10.100.0.0/24',
  ],
  'a NIC that a foreign file configures, without take-over': [
    plus({ files: { '/etc/netplan/50-cloud-init.yaml': text(`match: {macaddress: ${macOf(0).toUpperCase()}}`) } }),
    `ForeignFile: /etc/netplan/50-cloud-init.yaml (written by cloud-init) configures ${macOf(0)}`,
    {},
    { NETWORK_TAKEOVER: 'refuse' },
  ],
  'a NIC that a foreign ifcfg file configures': [
    plus({ files: { '/etc/sysconfig/network-scripts/ifcfg-eth1': text(`HWADDR=${macOf(0).toUpperCase()}`) } }),
    `ForeignFile: /etc/sysconfig/network-scripts/ifcfg-eth1 configures ${macOf(0)}`,
  ],
  'an ifcfg file that cannot be read': [
    plus({ files: { '/etc/sysconfig/network-scripts/ifcfg-eth1': { ...text(''), uid: 1000, unreadable: true } } }),
    `ForeignFile: cannot read /etc/sysconfig/network-scripts/ifcfg-eth1, which may configure ${macOf(0)}`,
  ],
  'a NIC whose .network file would not win at boot': [
    plus({ files: { '/host/run/systemd/network/01-all.network': text('[Match]\nName=*\n') } }),
    'ForeignFile: /run/systemd/network/01-all.network matches the NIC and sorts before 05-multinic0.network, so it would configure the NIC at boot',
  ],
  'a file that cannot be read at our path': [
    plus({ files: { '/etc/netplan/90-multinic0.yaml': { ...text(''), mode: 0, unreadable: true } } }),
    'ForeignFile: /etc/netplan/90-multinic0.yaml is not readable; multinic needs this path',
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
  'a table with a route without a device': [
    plus({ routes: [aRoute(0, '10.9.0.0/16', { table: 100, devices: [] })] }),
    'RoutingTableInUse: a route to 10.9.0.0/16 in table 100 is not from multinic',
  ],
  'a table with a desired route over another device': [
    plus({ routes: [aRoute(2, '10.100.0.0/24', asDesired)] }),
    'RoutingTableInUse: a route to 10.100.0.0/24 in table 100 is not from multinic',
  ],
  'a table with a desired route over another device too': [
    plus({ routes: [{ ...aRoute(3, '10.100.0.0/24', asDesired), devices: [3, 2] }] }),
    'RoutingTableInUse: a route to 10.100.0.0/24 in table 100 is not from multinic',
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
  'an MTU below the minimum of the device': [
    withLink({ minMtu: 1400 }),
    'MtuTooLarge: MTU 1399 is below the minimum of ens4, 1400',
    { mtu: 1399 },
  ],
  'an MTU that IPv6 does not allow': [
    aNode(1),
    'MtuTooLarge: MTU 1279 is below the minimum of IPv6, 1280',
    { mtu: 1279, addresses: ['fd00::10/64'] },
  ],
  'a NIC with a device on top': [
    plus({ links: [aLink({ ifindex: 9, name: 'ens4.5', kind: 'vlan', lower: 'ens4' })] }),
    'LinkHasUpperDevices: ens4.5 uses ens4 as lower device; remove it first',
  ],
  'a NIC with a device on top, and another one in a Pod': [
    plus(
      { links: [aLink({ ifindex: 9, name: 'ens4.5', kind: 'vlan', lower: 'ens4' })] },
      aNode(1, { stackedElsewhere: [3] }),
    ),
    'LinkHasUpperDevices: ens4.5 uses ens4 as lower device; remove it first',
  ],
  'a NIC with devices on top': [
    plus({
      links: [
        aLink({ ifindex: 8, name: 'mac0', kind: 'macvlan', lower: 'ens4' }),
        aLink({ ifindex: 9, name: 'ens4.5', kind: 'vlan', lower: 'ens4' }),
      ],
    }),
    'LinkHasUpperDevices: mac0 and ens4.5 use ens4 as lower device; remove them first',
  ],
  'a NIC with a device on top in a Pod': [
    aNode(1, { stackedElsewhere: [3] }),
    'LinkHasUpperDevices: a device in another network namespace, such as that of a Pod, uses ens4 as lower device; stop the Pod first',
  ],
  'a NIC whose index is the name of another device': [
    plus({ links: [aLink({ ifindex: 9, name: 'if3', macAddress: 'fa:16:3e:aa:aa:aa' })] }),
    'InterfaceNameInUse: another device has the name if3, which ip also reads as ifindex 3',
  ],
  'a NIC whose index is an altname of another device': [
    plus({ links: [aLink({ ifindex: 9, name: 'ens9', macAddress: 'fa:16:3e:aa:aa:aa', altnames: ['x', 'if3'] })] }),
    'InterfaceNameInUse: ens9 has the name if3, which ip also reads as ifindex 3',
  ],
  'a NIC with a DHCP client': [
    aNode(1, { dhcpClients: { 3: 'dhclient has a socket' } }),
    'DhcpClientActive: a DHCP client runs on ens4: dhclient has a socket. Stop it for this NIC',
  ],
  'a table with a route of another device': [
    plus({ routes: [aRoute(2, '10.9.0.0/16', { table: 100 })] }),
    'RoutingTableInUse: a route to 10.9.0.0/16 in table 100 is not from multinic',
  ],
  'a table with a foreign route of the NIC itself, by a router': [
    plus({ routes: [aRoute(3, '10.9.0.0/16', { table: 100, gateway: '10.100.0.7' })] }),
    'RoutingTableInUse: a route to 10.9.0.0/16 via 10.100.0.7 in table 100 is not from multinic',
  ],
  'two devices with one MAC address': [
    plus({ links: [aLink({ ifindex: 9, name: 'ens9', macAddress: macOf(0) })] }),
    `NicAmbiguous: ens4 and ens9 have the same MAC address ${macOf(0)}`,
  ],
  'a host without a known backend': [
    aNode(1, { directories: [hostPaths.state] }),
    'BackendUnknown: no /etc/netplan, no /etc/NetworkManager/system-connections, no /etc/sysconfig/network-scripts',
  ],
}

for (const [name, [observed, expected, requested, env]] of Object.entries(refusals)) {
  test(`${name} is refused, and nothing changes`, () => {
    const planned = planOf(observed, [anInterface(0, requested)], env)
    const refusal = planned.refused.get(0)
    assert.equal(refusal && `${refusal.reason}: ${refusal.message}`, expected)
    assert.deepEqual(changesOf(planned), [])
    // PREFLIGHT_ALLOW_UP overrides one reason only.
    const allowed = planOf(observed, [anInterface(0, requested)], { ...env, PREFLIGHT_ALLOW_UP: 'true' }).refused.get(0)
    assert.equal(allowed?.message, refusal?.reason === 'ForeignAddresses' ? undefined : refusal?.message)
  })
}

test('while the API server does not resolve, a NIC without a foreign route is accepted', () => {
  const planned = planOf(aNode(1), [anInterface(0)], { KUBERNETES_SERVICE_HOST: 'api.example.com' })
  assert.deepEqual([planned.refused.size, planned.accepted.length], [0, 1])
})

test('PREFLIGHT_ALLOW_UP accepts a NIC in use and keeps its foreign addresses', () => {
  const observed = plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, withLink(up))
  const planned = planOf(observed, [anInterface(0)], { PREFLIGHT_ALLOW_UP: 'true' })
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
    planOf(observed, [anInterface(0)]).accepted.map(({ link }) => link.name),
    ['ens4'],
  )
})

test('a foreign file at our path makes no NIC ours, and prevents the removal of ours', () => {
  const path = '/etc/netplan/90-multinic0.yaml'
  const theirs = { ...text(`match: {macaddress: ${macOf(0)}}`), uid: 1000 }
  const never = planOf(plus({ files: { [path]: theirs } }, withLink(up)), [])
  assert.deepEqual([changesOf(never), never.unremovable], [[], []])
  const ours = afterPlan(aNode(1), [anInterface(0)])
  const blocked = planOf({ ...ours, files: { ...ours.files, [path]: theirs } }, [])
  assert.deepEqual(changesOf(blocked), [])
  assert.deepEqual(
    blocked.unremovable.map(({ name, refusal }) => [name, refusal.reason]),
    [['multinic0', 'ForeignFile']],
  )
})

test('a foreign route in the table of a NIC of ours refuses it, also if it uses the NIC', () => {
  const ours = afterPlan(aNode(1), [anInterface(0)])
  const table = { table: 100 }
  for (const route of [
    aRoute(3, '10.9.0.0/16', { ...table, type: 6 }),
    { ...aRoute(3, '10.9.0.0/16', table), devices: [3, 2] },
  ])
    assert.equal(planOf(plus({ routes: [route] }, ours), [anInterface(0)]).refused.get(0)?.reason, 'RoutingTableInUse')
})
