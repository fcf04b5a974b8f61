/** Which NICs are taken over, which carry the node's default route, and which have a DHCP client of their own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDhcpClients } from '../observe/dhcp-clients.ts'
import type { Observed } from '../state/observed.ts'
import { aNode, anAddress, anInterface, aRoute, changesOf, kernelChangesOf, planOf } from '../test/agent.fixture.ts'

const lifetime = { valid: 600, preferred: 600 }
const gateway = '10.100.0.1'
const [ra, dhcp] = [9, 16]

/** A node whose NIC has a lease and these default routes; the primary has one with metric 100. */
function leasedNode(routes: Observed['routes'], more: Partial<Observed> = {}): Observed {
  const node = aNode(1, more)
  return {
    ...node,
    links: node.links.map(link => (link.ifindex === 3 ? { ...link, up: true, carrier: true } : link)),
    addresses: [...node.addresses, anAddress(3, '10.100.0.77/24', { lifetime })],
    routes: [
      ...node.routes.map(route => (route.destination === 'default' ? { ...route, metric: 100 } : route)),
      ...routes,
    ],
  }
}

const default4 = (metric: number, protocol = dhcp) => aRoute(3, 'default', { gateway, metric, protocol })
const default6 = (ifindex: number, metric: number) =>
  aRoute(ifindex, 'default', { family: 6, gateway: 'fe80::1', metric, protocol: ra })

const taken: Record<string, Observed> = {
  'a worse metric than the primary’s': leasedNode([default4(200)]),
  'the primary’s metric, while the kernel selects the primary': leasedNode([default4(100)], {
    defaultDevices: { 4: 2 },
  }),
  'an IPv6 route beside a better one': leasedNode([default6(2, 100), default6(3, 1024)]),
  'an IPv6 route that shares the traffic with the device of the node’s address': leasedNode(
    [default6(2, 1024), default6(3, 1024)],
    { defaultDevices: { 6: 3 } },
  ),
}
for (const [name, observed] of Object.entries(taken))
  test(`F3: a NIC with a dynamic default route is taken over: ${name}`, () => {
    const plan = planOf(observed, [anInterface(0)])
    assert.deepEqual([...plan.refused], [])
    const changes = kernelChangesOf(plan)
    assert.ok(changes.includes('remove address 10.100.0.77/24'), changes.join('\n'))
    assert.ok(
      changes.some(line => /^remove route (0\.0\.0\.0|::)\/0 via .* protocol (9|16)$/.test(line)),
      changes.join('\n'),
    )
    const refused = planOf(observed, [anInterface(0)], { NETWORK_TAKEOVER: 'refuse' })
    assert.equal(refused.refused.get(0)?.reason, 'CarriesDefaultRoute')
    assert.deepEqual(changesOf(refused), [])
  })

const refused: Record<string, Observed> = {
  'a better metric than the primary’s': leasedNode([default4(50)]),
  'the primary’s metric, while the kernel does not say which one it selects': leasedNode([default4(100)]),
  'a worse metric, while the kernel selects it by a rule': leasedNode([default4(200)], { defaultDevices: { 4: 3 } }),
  'a static one with a worse metric': leasedNode([default4(200, 4)]),
  'one in a table of others': leasedNode([{ ...default4(200), table: 77 }]),
  'the only IPv6 default route': leasedNode([default6(3, 1024)]),
  'one that shares the traffic with a device without an address of the node': leasedNode([
    default6(3, 1024),
    default6(9, 1024),
  ]),
}
for (const [name, observed] of Object.entries(refused))
  test(`F3: a NIC that may carry the node’s default route is refused: ${name}`, () => {
    const plan = planOf(observed, [anInterface(0)])
    assert.equal(plan.refused.get(0)?.reason, 'CarriesDefaultRoute')
    assert.deepEqual(changesOf(plan), [])
  })

test('with NETWORK_ACCEPT_RA, addresses from router advertisements stay, but no default route', () => {
  const node = leasedNode([default6(2, 100), default6(3, 1024)])
  const observed = { ...node, addresses: [...node.addresses, anAddress(3, 'fd00::77/64', { lifetime })] }
  const changes = (env: Record<string, string>) =>
    kernelChangesOf(planOf(observed, [anInterface(0)], { ...env, PREFLIGHT_ALLOW_UP: 'true' }))
  assert.ok(changes({}).includes('remove address fd00::77/64'))
  const accepted = changes({ NETWORK_ACCEPT_RA: 'true' })
  assert.ok(!accepted.includes('remove address fd00::77/64'))
  assert.ok(accepted.some(line => line.startsWith('remove route ::/0 via fe80::1')))
})

test('networkd’s own file is no obstacle; a file that changed since networkd read it is', () => {
  const observed = (more: Partial<Observed>) => leasedNode([], { networkdFiles: { 3: '/run/10-all.network' }, ...more })
  assert.equal(planOf(observed({}), [anInterface(0)]).refused.size, 0)
  const changed = observed({ networkdChanged: '/etc/systemd/network/20-ens3.network' })
  assert.equal(planOf(changed, [anInterface(0)]).refused.get(0)?.reason, 'DhcpClientActive')
})

const columns = 'sk RefCnt Type Proto Iface R Rmem User Inode'
const packet = (protocol: string, ifindex: number) => `${columns}\nffff 3 3 ${protocol} ${ifindex} 1 0 0 1`
const udp = (...bound: string[]) =>
  ['sl', ...bound.map((address, index) => `${index}: ${address} 00000000:0000 07`)].join('\n')
const sockets: Record<string, [tables: Partial<Parameters<typeof findDhcpClients>[0]>, found: RegExp | undefined]> = {
  dhclient: [{ packet: packet('0003', 3), udp: udp('00000000:0044') }, /dhclient/],
  'udhcpc while it asks': [{ packet: packet('0800', 3) }, /udhcpc/],
  'a client with the port of the NIC’s address': [{ udp: udp('4D00640A:0044') }, /10\.100\.0\.77/],
  'a DHCPv6 client': [{ udp6: udp('000080FE00000000FF3E16F8010000FE:0222') }, /fe80::f816:3eff:fe00:1/],
  'tcpdump, beside no client': [{ packet: packet('0003', 3) }, undefined],
  'clients of other NICs': [{ packet: packet('0800', 2), udp: udp('00000000:0044', '0A00000A:0044') }, undefined],
}
for (const [name, [tables, found]] of Object.entries(sockets))
  test(`sockets: ${name}`, () => {
    const { links, addresses } = leasedNode([])
    const all = [...addresses, anAddress(3, 'fe80::f816:3eff:fe00:1/64', { linkLocal: true })]
    const nic = links.filter(link => link.ifindex === 3)
    const evidence = findDhcpClients({ packet: '', udp: '', udp6: '', ...tables }, nic, all)[3]
    if (found) assert.match(evidence ?? '', found)
    else assert.equal(evidence, undefined)
  })
