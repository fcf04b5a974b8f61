import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from '../../contract/hash.ts'
import type { Interface } from '../../contract/interfaces.ts'
import { planRollback } from '../apply/rollback-plan.ts'
import { hostPaths } from '../paths.ts'
import { describeChange, ipCommand } from '../state/change.ts'
import type { Observed } from '../state/observed.ts'
import { recordPath } from '../state/ownership.ts'
import { predictState } from '../state/predict.ts'
import { withPurpose } from '../state/unit.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  kernelChangesOf,
  macOf,
  nodeChangesOf,
  planOf,
  primaryMac,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { differences } from '../verify/verify.ts'
import { planRun } from './plan.ts'

test('a new NIC gets name, MTU, address, link up, routes, rules and files, in this order, and the node what NICs share', () => {
  const [nic, node, ...others] = changesOf(planOf(aNode(1), [anInterface(0)]))
  assert.deepEqual(
    [nic, ...others],
    [
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
        'add route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
        'add route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4',
        'add rule from 10.100.0.0/24 iif lo lookup 100 priority 10070',
        'add rule from 10.100.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
        'add rule from 0.0.0.0/0 iif multinic0 fwmark 0x8/0x78 lookup 254 priority 9999',
        'add rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000',
        'add altname port-0',
        'write /etc/systemd/network/05-multinic0.link',
        'write /etc/netplan/90-multinic0.yaml',
        'write /etc/systemd/network/05-multinic0.network',
        'write /etc/sysctl.d/90-multinic0.conf',
        'write /var/lib/multinic/nics/fa163e000001.json',
      ].join('; ')}`,
    ],
  )
  const shared = (node ?? '').split('; ')
  assert.deepEqual(
    shared.filter(line => !line.startsWith('add rule ')),
    [
      'node: add nft table ip multinic',
      'add route 10.100.0.0/24 via 10.0.0.1 table 110 onlink protocol 2',
      'write /var/lib/multinic/node.json',
    ],
  )
  assert.ok(shared.includes('add rule from 0.0.0.0/0 fwmark 0x58/0x78 lookup 110 priority 10010'))
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

test('an address that DHCP configured is adopted: it stays, and its connected route gets the metric of the NIC', () => {
  const leased = aNode(1)
  const observed = {
    ...leased,
    links: leased.links.map(link => (link.name === 'ens4' ? { ...link, up: true } : link)),
    addresses: [...leased.addresses, anAddress(3, '10.100.0.10/24', { lifetime: { valid: 3600, preferred: 3600 } })],
    routes: [...leased.routes, aRoute(3, '10.100.0.0/24', { protocol: 2, scope: 253, source: '10.100.0.10' })],
  }
  const commandsOf = (node: Observed) =>
    planOf(node, [anInterface(0)]).units.flatMap(({ changes }) =>
      changes.flatMap(change => (change.kind === 'address' ? ipCommand(change, 3) : [])),
    )
  assert.deepEqual([...planOf(observed, [anInterface(0)]).refused], [])
  // The kernel moves the route in one step. A new address would end the masqueraded connections of Pods.
  assert.deepEqual(commandsOf(observed), [
    '',
    'address change 10.100.0.10/24 dev if3 valid_lft forever preferred_lft forever metric 20000',
  ])
  // networkd would remove the address with its client: it forgets the one that is added anew.
  const byNetworkd = { ...observed, networkdFiles: { 3: '/run/systemd/network/10-netplan-all.network' } }
  assert.deepEqual(commandsOf(byNetworkd), [
    'address add 10.100.0.10/32 dev if3 noprefixroute',
    'address del 10.100.0.10/24 dev if3',
    'address add 10.100.0.10/24 brd + dev if3 noprefixroute',
    'address del 10.100.0.10/32 dev if3',
  ])
})

/** The routes by which packets without a source find a NIC. */
const mainRoutesOf = (plan: ReturnType<typeof planOf>) =>
  kernelChangesOf(plan).filter(line => /^add route .* table 254 /.test(line))

test('packets without a source use the longest prefix first, then the NIC with the lowest index', () => {
  const subnet = { cidr: '10.100.0.0/24', gateway: '10.100.0.1' }
  const requested = [1, 2].map(id => anInterface(id, { ...subnet, address: `10.100.0.1${id}` }))
  const longer = { address: '10.100.0.200', cidr: '10.100.0.192/26', gateway: '10.100.0.193' }
  assert.deepEqual(mainRoutesOf(planOf(aNode(4), [...requested, anInterface(3, longer)])), [
    'add route 10.100.0.0/24 table 254 src 10.100.0.11 metric 20001 protocol 4',
    'add route 10.100.0.0/24 table 254 src 10.100.0.12 metric 20002 protocol 4',
    'add route 10.100.0.192/26 table 254 src 10.100.0.200 metric 20003 protocol 4',
  ])
})

const reserved: Record<string, { observed?: Partial<Observed>; env?: Record<string, string>; because: string }> = {
  'the subnet of the primary NIC': {
    observed: { routes: [aRoute(2, '10.100.0.0/24', { protocol: 2 })] },
    because: 'overlaps 10.100.0.0/24 on ens3 in the main table',
  },
  'the network of the API server': {
    env: { KUBERNETES_SERVICE_HOST: '10.100.0.99' },
    because: 'contains 10.100.0.99, the address of the API server',
  },
  "the network of the node's gateway": {
    observed: { routes: [aRoute(2, 'default', { gateway: '10.100.0.254', onlink: true })] },
    because: 'contains 10.100.0.254, the gateway of the node',
  },
}
for (const [name, { observed, env, because }] of Object.entries(reserved)) {
  test(`packets without a source do not use a NIC for ${name}, nor do other sources in its network`, () => {
    const planned = planOf(aNode(1, observed), [anInterface(0)], env)
    assert.deepEqual(mainRoutesOf(planned), [])
    assert.deepEqual(planned.accepted[0]?.nic.onlyBound, [{ network: '10.100.0.0/24', because }])
    const rules = kernelChangesOf(planned).filter(line => line.startsWith('add rule'))
    assert.ok(
      rules.every(line => /^add rule from (10\.100\.0\.10\/32|0\.0\.0\.0\/0 (iif multinic0 )?fwmark) /.test(line)),
      rules.join(),
    )
    assert.deepEqual(planned.node?.routes, new Map())
  })
}

test('a requested route serves packets without a source, unless it covers an address of the node, of Pods, of Services or of every NIC', () => {
  const destinations = [
    '172.16.0.0/12',
    '10.0.0.0/8',
    '10.244.0.0/16',
    '10.96.8.0/24',
    '169.254.169.254/32',
    '10.1.2.3/32',
  ]
  const routes = destinations.map(destination => ({ destination, nexthop: '10.100.0.254' }))
  const input = {
    interfaces: [anInterface(0, { routes })],
    nodeAddresses: ['10.0.0.10'],
    podCIDRs: ['10.244.3.0/24'],
    serviceCIDRs: ['10.96.0.0/16', 'fd00:96::/112'],
  }
  const planned = planRun({ ...input, settings: settingsFrom(), paths: hostPaths, observed: aNode(1) })
  assert.deepEqual(mainRoutesOf(planned), [
    'add route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'add route 172.16.0.0/12 via 10.100.0.254 table 254 metric 20100 onlink protocol 4',
    'add route 10.1.2.3/32 via 10.100.0.254 table 254 metric 20100 onlink protocol 4',
  ])
  assert.deepEqual(
    planned.accepted[0]?.nic.onlyBound.map(({ network, because }) => `${network} ${because}`),
    [
      '10.0.0.0/8 contains 10.0.0.10, the address of the node',
      '10.244.0.0/16 overlaps 10.244.3.0/24, a network of Pods',
      '10.96.8.0/24 overlaps 10.96.0.0/16, a network of Services',
      '169.254.169.254/32 overlaps 169.254.0.0/16, which exists on every NIC',
    ],
  )
})

test('the rules of a NIC do not depend on the routes of the node', () => {
  const routes = [
    ...aNode(1).routes,
    aRoute(2, '10.30.0.0/16', { gateway: '10.0.0.254', protocol: 16 }),
    aRoute(2, '192.0.2.1/32', { protocol: 4 }),
    aRoute(2, '10.244.7.0/24', { gateway: '10.0.0.7' }),
    aRoute(2, '10.100.0.64/26', { gateway: '10.0.0.7' }),
  ]
  const [few, many] = [aNode(1), aNode(1, { routes })].map(node => planOf(node, [anInterface(0)]))
  assert.ok(few && many)
  assert.deepEqual(kernelChangesOf(many), kernelChangesOf(few))
  assert.deepEqual(nodeChangesOf(many), nodeChangesOf(few))
})

test('what NICs share before a pass stays until the pass has ended', () => {
  const [before, changed] = [anInterface(0), anInterface(0, { address: '10.200.0.10', cidr: '10.200.0.0/24' })]
  const configured = afterPlan(aNode(1), [before])
  const during = planOf(configured, [changed])
  assert.deepEqual(nodeChangesOf(during), [
    'replace nft table ip multinic',
    'add route 10.200.0.0/24 via 10.0.0.1 table 110 onlink protocol 2',
  ])
  const table = during.node?.nft[4] ?? ''
  assert.match(table, /elements = \{ 10\.100\.0\.0\/24 : goto from0, 10\.200\.0\.0\/24 : goto from0 \}/)
  const end = predictState(configured, during.units)
  assert.deepEqual(nodeChangesOf(planOf(end, [changed])), [
    'replace nft table ip multinic',
    'remove route 10.100.0.0/24 via 10.0.0.1 table 110 onlink protocol 2',
  ])
  assert.deepEqual(changesOf(planOf(afterPlan(configured, [changed]), [changed])), [])
})

test('an IPv6 gateway may be the address of the network itself', () => {
  const requested = anInterface(0, { address: 'fd00::10', cidr: 'fd00::/64', gateway: 'fd00::' })
  const lines = kernelChangesOf(planOf(aNode(1), [requested])).filter(line => line.includes('via'))
  assert.deepEqual(lines, ['add route ::/0 via fd00:: table 100 metric 100 onlink protocol 4'])
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
  assert.deepEqual(mainRoutesOf(planned), [])
})

test('an orphaned NIC that now carries the default route keeps its state and its files', () => {
  const now = afterPlan(aNode(1), [anInterface(0)])
  const carrying = { ...now, routes: [...now.routes, aRoute(3, 'default', { gateway: '10.100.0.1' })] }
  const planned = planOf(carrying, [])
  assert.deepEqual(changesOf(planned), [])
  assert.equal(planned.unremovable[0]?.refusal.reason, 'CarriesDefaultRoute')
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
  const env = { NETWORK_ACCEPT_RA: 'true' }
  const settings = planOf(before, [anInterface(0)], env).units.flatMap(unit =>
    unit.changes.filter(change => change.kind === 'sysctl').map(describeChange),
  )
  assert.deepEqual(settings, ['ipv6.accept_ra_defrtr 1 to 0', 'ipv6.accept_ra 0 to 1', 'ipv6.autoconf 0 to 1'])
  const after = afterPlan(before, [anInterface(0)], env)
  assert.deepEqual(planOf(after, [anInterface(0)], env).units, [])
  // Another program may turn it off afterwards: networkd handles advertisements itself.
  const managed = { ...after, sysctls: { 3: { ...after.sysctls[3], 'ipv6.accept_ra': '0' } } }
  assert.deepEqual(planOf(managed, [anInterface(0)], env).units, [])
})

test('from any state to any other: the desired state is reached, a second plan removes only what the pass needed, and a rollback restores the first', () => {
  fc.assert(
    fc.property(anyRequest, anyRequest, (first, second) => {
      const start = afterPlan(aNode(5), first)
      const planned = planOf(start, second)
      const end = predictState(start, planned.units)
      for (const { nic, link } of planned.accepted) assert.deepEqual(differences(nic, link.ifindex, end), [])
      assert.equal(planned.accepted.length, second.length)
      const trim = planOf(end, second).units
      assert.deepEqual(withPurpose(trim, 'node'), trim)
      assert.deepEqual(changesOf(planOf(predictState(end, trim), second)), [])
      const rollback = planRollback(planned.units, end)
      assert.deepEqual(rollback.conflicts, [])
      assert.deepEqual(comparable(predictState(end, rollback.units)), comparable(start))
    }),
    { numRuns: 100 },
  )
})
