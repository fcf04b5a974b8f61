/** What a plan changes of a NIC that multinic configured before, beside rules and files of others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { describeChange, ruleText } from '../state/change.ts'
import type { Link, Observed } from '../state/observed.ts'
import { recordPath } from '../state/ownership.ts'
import {
  afterPlan,
  aLink,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  aRule,
  changesOf,
  kernelChangesOf,
  macOf,
  nodeChangesOf,
  planOf,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { type Plan, planRun } from './plan.ts'

const configured = afterPlan(aNode(1), [anInterface(0)])
const withLink = (values: Partial<Link>, base = aNode(1), ifindex = 3): Observed => ({
  ...base,
  links: base.links.map(link => (link.ifindex === ifindex ? { ...link, ...values } : link)),
})
const linesOf = ({ units }: Plan) => units.flatMap(({ changes }) => changes.map(describeChange))
const recordOf = (observed: Observed, index = 0) =>
  JSON.parse(observed.files[recordPath(hostPaths, macOf(index))]?.text ?? '{}')
const without = (path: string, { files, ...rest }: Observed): Observed => {
  const { [path]: _, ...kept } = files
  return { ...rest, files: kept }
}

test('a NIC that is not in the guest is missing, and one that failed before is not tried again', () => {
  const requested = [anInterface(0), anInterface(1), anInterface(7)]
  const input = {
    interfaces: requested,
    nodeAddresses: [],
    settings: settingsFrom(),
    paths: hostPaths,
    observed: aNode(2),
  }
  const planned = planRun({ ...input, skip: new Set([1]) })
  assert.deepEqual(
    planned.missing.map(({ index }) => index),
    [7],
  )
  assert.deepEqual(
    planned.units.map(({ purpose, name }) => `${purpose} ${name}`),
    ['apply multinic0', 'node node'],
  )
  assert.equal(planned.refused.size, 0)
})

const elsewhere = anInterface(0, { address: '10.200.0.20', cidr: '10.200.0.0/24' })

test('a new address replaces the old one with its rules, and rules of others stay', () => {
  const foreign = [
    aRule({ from: '192.168.7.7/32', priority: 5 }),
    aRule({ from: '192.168.7.8/32', table: 77, priority: 10_060 }),
    aRule({ from: '192.168.7.9/32', table: 77, priority: 6 }),
    aRule({ from: '10.200.0.0/24', plain: false }),
  ]
  const planned = planOf({ ...configured, rules: [...configured.rules, ...foreign] }, [elsewhere])
  assert.deepEqual(kernelChangesOf(planned), [
    'remove rule from 10.100.0.0/24 iif lo lookup 100 priority 10070',
    'remove rule from 10.100.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
    'remove route 10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
    'remove route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'remove address 10.100.0.10/24 noprefixroute',
    'add address 10.200.0.20/24 noprefixroute',
    'add route 10.200.0.0/24 table 100 src 10.200.0.20 metric 100 protocol 4',
    'add route 10.200.0.0/24 table 254 src 10.200.0.20 metric 20000 protocol 4',
    'add rule from 10.200.0.0/24 iif lo lookup 100 priority 10070',
    'add rule from 10.200.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
  ])
  // Those with our table or one of our priorities are reported.
  assert.deepEqual(
    [...planned.foreignRules],
    [
      [
        0,
        [
          'from 192.168.7.7/32 lookup 100 priority 5',
          'from 192.168.7.8/32 lookup 77 priority 10060',
          'from 10.200.0.0/24 lookup 100 priority 10100',
        ],
      ],
    ],
  )
  assert.deepEqual([...planOf(configured, [anInterface(0)]).foreignRules], [])
  assert.deepEqual([...planOf(configured, [elsewhere]).foreignRules], [])
})

test('another address of the same network keeps the rules, and replaces the routes in place', () => {
  const { units } = planOf(configured, [anInterface(0, { address: '10.100.0.20' })])
  const [unit = assert.fail()] = units
  assert.deepEqual(
    unit.changes.filter(({ kind }) => kind === 'rule'),
    [],
  )
  assert.deepEqual(
    unit.changes.flatMap(change =>
      change.kind === 'route'
        ? [[change.op, change.route.source, change.route.table, change.inPlace, change.early]]
        : [],
    ),
    [
      ['remove', '10.100.0.10', 100, true, undefined],
      ['remove', '10.100.0.10', 254, true, undefined],
      ['add', '10.100.0.20', 100, true, undefined],
      ['add', '10.100.0.20', 254, true, undefined],
    ],
  )
})

test('a NIC that was configured gets its network in the main table before anything is removed', () => {
  const old = { ...configured, routes: configured.routes.filter(({ metric }) => metric !== 20_000) }
  const routes = planOf(old, [anInterface(0)]).units.flatMap(({ changes }) =>
    changes.flatMap(change => (change.kind === 'route' && change.route.table === 254 ? [change] : [])),
  )
  assert.deepEqual(
    routes.map(change => [describeChange(change), change.early]),
    [['add route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4', true]],
  )
})

const band = [
  aRule({ from: '10.100.0.10/32', to: '172.16.0.0/12', iif: 'eth9', suppressPrefixLength: 3, priority: 10_094 }),
  aRule({ from: '10.100.0.10/32', not: true, fwmark: '0x70/0x78', goto: 10_095, table: 0, priority: 10_077 }),
]
test('a rule that the record names is ours and leaves with the NIC, in a form that this agent does not write', () => {
  const path = recordPath(hostPaths, macOf(0))
  const foreign = aRule({ from: '10.100.0.11/32', priority: 10_094 })
  const record = { ...recordOf(configured), rules: band.map(ruleText) }
  const file = { ...(configured.files[path] ?? assert.fail('no record')), text: JSON.stringify(record) }
  const observed = { ...configured, rules: [...band, foreign], files: { ...configured.files, [path]: file } }
  const removed = (of: Observed) => kernelChangesOf(planOf(of, [])).filter(line => line.includes(' rule '))
  assert.deepEqual(
    removed(observed),
    band.map(rule => `remove rule ${ruleText(rule)}`),
  )
  const detached = { ...observed, links: observed.links.filter(({ ifindex }) => ifindex !== 3) }
  assert.deepEqual(
    removed(detached),
    band.map(rule => `remove rule ${ruleText(rule)}`),
  )
})

test('a rule is stale when multinic set it for the NIC and no NIC needs it', () => {
  const old = { from: '10.100.0.0/24', iif: 'lo', priority: 10_070 }
  const [accepted] = planOf(configured, [elsewhere]).accepted
  const isStale = accepted?.isStale ?? assert.fail('refused')
  assert.equal(isStale(aRule(old)), true)
  assert.equal(isStale(aRule({ ...old, from: '10.200.0.0/24' })), false)
  assert.equal(isStale(aRule({ ...old, priority: 10_071 })), false)
  assert.equal(isStale(aRule({ from: '192.168.7.7/32' })), false)
  const [fresh] = planOf(aNode(1), [anInterface(0)]).accepted
  assert.equal(fresh?.isStale(aRule(old)), false)
})

test('rules and routes that the record names are replaced, in whatever form they are', () => {
  const rules = [
    aRule({ from: '10.100.0.10/32' }),
    aRule({ from: '10.100.0.10/32', to: '10.0.0.0/24', priority: 10_060 }),
    aRule({ from: '10.100.0.10/32', table: 254, suppressPrefixLength: 0, priority: 10_080 }),
    aRule({ from: '0.0.0.1/31', to: '10.100.0.0/24', priority: 32_516 }),
  ]
  const route = aRoute(3, 'fd00:1::/64', { from: '::/128', metric: 100, protocol: 4 })
  const path = recordPath(hostPaths, macOf(0))
  const record = {
    ...recordOf(configured),
    rules: rules.map(ruleText),
    mainRoutes: ['fd00:1::/64 from ::/128 table 254 metric 100 protocol 4'],
  }
  const file = { ...(configured.files[path] ?? assert.fail('no record')), text: JSON.stringify(record) }
  const observed: Observed = {
    ...configured,
    rules,
    routes: [...configured.routes.filter(({ metric }) => metric !== 20_000), route],
    files: { ...configured.files, [path]: file },
  }
  assert.deepEqual(kernelChangesOf(planOf(observed, [anInterface(0)])), [
    ...rules.map(rule => `remove rule ${ruleText(rule)}`),
    'remove route fd00:1::/64 from ::/128 table 254 metric 100 protocol 4',
    'add route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'add rule from 10.100.0.0/24 iif lo lookup 100 priority 10070',
    'add rule from 10.100.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
    'add rule from 0.0.0.0/0 iif multinic0 fwmark 0x8/0x78 lookup 254 priority 9999',
    'add rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000',
  ])
})

test('another base of the tables moves routes and rules, and both tables are ours', () => {
  const planned = planOf(configured, [anInterface(0)], { NETWORK_ROUTING_TABLE_BASE: '300' })
  assert.deepEqual([...planned.tables], [100, 300])
  const changes = kernelChangesOf(planned)
  assert.ok(changes.includes('remove route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4'))
  assert.ok(changes.includes('add route 0.0.0.0/0 via 10.100.0.1 table 300 metric 100 onlink protocol 4'))
  assert.ok(changes.includes('add rule from 10.100.0.0/24 iif lo lookup 300 priority 10070'))
  assert.ok(changes.includes('add rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 300 priority 10000'))
  assert.ok(!changes.some(line => /address|rename|altname|table 254/.test(line)))
  assert.ok(nodeChangesOf(planned).includes('add route 10.100.0.0/24 via 10.0.0.1 table 310 onlink protocol 2'))
})

test('NICs whose tables move onto each other are planned one after the other', () => {
  const request = [anInterface(0), anInterface(1)]
  const both = afterPlan(aNode(2), request)
  const env = { NETWORK_ROUTING_TABLE_BASE: '101' }
  const moved = afterPlan(both, request, env)
  assert.deepEqual(changesOf(planOf(moved, request, env)), [])
  assert.deepEqual(
    moved.routes
      .filter(({ destination, table }) => destination === 'default' && table !== 254)
      .map(({ devices, table }) => [devices[0], table]),
    [
      [3, 101],
      [4, 102],
    ],
  )
})

test('a NIC that gets another index takes its record along and leaves no files behind', () => {
  const request = [anInterface(1, { macAddress: macOf(0) })]
  const moved = afterPlan(configured, request)
  assert.deepEqual(Object.keys(moved.files).sort(), [
    '/etc/netplan/91-multinic1.yaml',
    '/etc/sysctl.d/91-multinic1.conf',
    '/etc/systemd/network/05-multinic1.link',
    '/etc/systemd/network/05-multinic1.network',
    '/var/lib/multinic/nics/fa163e000001.json',
    '/var/lib/multinic/node.json',
  ])
  assert.equal(recordOf(moved).marked.slot, 0, 'labels of open connections go on to mean this NIC')
  assert.deepEqual(recordOf(moved).former, recordOf(configured).former)
  assert.deepEqual(moved.links.find(({ ifindex }) => ifindex === 3)?.altnames, ['port-1'])
  assert.deepEqual(changesOf(planOf(moved, request)), [])
})

test('two NICs whose records have the same index remove its files once', () => {
  const all = afterPlan(aNode(3), [anInterface(0), anInterface(1), anInterface(2)])
  const path = recordPath(hostPaths, macOf(1))
  const record = { ...recordOf(all, 1), id: 0 }
  const file = all.files[path] ?? assert.fail('no record')
  const damaged = { ...all, files: { ...all.files, [path]: { ...file, text: JSON.stringify(record) } } }
  const moved = anInterface(3, { macAddress: macOf(0) })
  for (const request of [
    [moved, anInterface(1), anInterface(2)],
    [moved, anInterface(4, { macAddress: macOf(1) })],
  ]) {
    const removals = linesOf(planOf(damaged, request)).filter(line => /remove .*multinic0/.test(line))
    assert.deepEqual(removals, [...new Set(removals)])
    assert.equal(removals.length, 5)
  }
})

test('NICs that exchange their indexes are in one group, and keep the files of both indexes', () => {
  const both = afterPlan(aNode(3), [anInterface(0), anInterface(1), anInterface(2)])
  const request = [
    anInterface(0, { macAddress: macOf(1) }),
    anInterface(1, { macAddress: macOf(0) }),
    anInterface(2, { mtu: 1400 }),
  ]
  const { units } = planOf(both, request)
  assert.deepEqual(
    units.map(({ purpose, name, group }) => [purpose, name, group]),
    [
      ['apply', 'multinic0', units[1]?.group],
      ['apply', 'multinic1', units[0]?.group],
      ['apply', 'multinic2', 'multinic2'],
      ['node', 'node', 'node'],
    ],
  )
  const after = afterPlan(both, request)
  assert.deepEqual(Object.keys(after.files).sort(), Object.keys(both.files).sort())
  assert.deepEqual(changesOf(planOf(after, request)), [])
})

/** ens5 is up with a foreign address, so the agent refuses it. */
const busy: Observed = {
  ...withLink({ up: true }, aNode(2), 4),
  addresses: [...aNode(2).addresses, anAddress(4, '10.100.0.5/24')],
  routes: [...aNode(2).routes, aRoute(4, '10.100.0.0/24', { protocol: 2 })],
}

test('the networks of a refused NIC are networks of the node', () => {
  const planned = planOf(busy, [anInterface(0), anInterface(1)])
  assert.deepEqual([...planned.refused.keys()], [1])
  assert.deepEqual(planned.accepted[0]?.nic.onlyBound, [
    { network: '10.100.0.0/24', because: 'overlaps 10.100.0.0/24 on ens5 in the main table' },
  ])
})

test('the network of a NIC that is being removed is free, and that of one which carries the default route is not', () => {
  const both = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  const connected = { ...both, routes: [...both.routes, aRoute(4, '10.101.0.0/24', { protocol: 2 })] }
  const here = anInterface(0, { address: '10.101.0.20', cidr: '10.101.0.0/24', gateway: '10.101.0.1' })
  assert.deepEqual(planOf(connected, [here]).accepted[0]?.nic.onlyBound, [])
  const carrying = { ...connected, routes: [...connected.routes, aRoute(4, 'default', { gateway: '10.250.0.1' })] }
  const planned = planOf(carrying, [here, anInterface(1)])
  assert.deepEqual([...planned.refused.keys()], [1])
  assert.deepEqual(planned.accepted[0]?.nic.onlyBound, [
    { network: '10.101.0.0/24', because: 'overlaps 10.101.0.0/24 on multinic1 in the main table' },
  ])
})

test('each NIC is judged by its own request', () => {
  const small = aNode(2)
  const observed = { ...small, links: small.links.map(link => ({ ...link, maxMtu: 1500 })) }
  assert.deepEqual([...planOf(observed, [anInterface(0), anInterface(1, { mtu: 9000 })]).refused.keys()], [1])
})

test('the old rules of one NIC are not foreign to another', () => {
  const both = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  assert.deepEqual([...planOf(both, [anInterface(0, { address: '10.100.0.20' }), anInterface(1)]).foreignRules], [])
})

test('a refused NIC keeps its name, and so does every NIC whose name it keeps', () => {
  const named = withLink({ name: 'multinic2' }, withLink({ name: 'multinic0' }, busy, 4), 3)
  const observed = { ...named, links: [...named.links, aLink({ ifindex: 5, name: 'ens6', macAddress: macOf(2) })] }
  const planned = planOf(observed, [anInterface(0), anInterface(1), anInterface(2)])
  assert.deepEqual(
    [...planned.refused].map(([index, { reason, message }]) => `${index} ${reason}: ${message}`),
    [
      '1 ForeignAddresses: multinic0 is up and has address 10.100.0.5/24',
      `0 InterfaceNameInUse: the device with MAC address ${macOf(1)} is named multinic0`,
      `2 InterfaceNameInUse: the device with MAC address ${macOf(0)} is named multinic2`,
    ],
  )
  assert.deepEqual(changesOf(planned), [])
})

test('a name that another device has as an altname is in use', () => {
  const observed = {
    ...aNode(1),
    links: [...aNode(1).links, aLink({ ifindex: 9, name: 'x', macAddress: macOf(8), altnames: ['multinic0'] })],
  }
  assert.equal(planOf(observed, [anInterface(0)]).refused.get(0)?.reason, 'InterfaceNameInUse')
})

test('the record has all that a removal needs', () => {
  const record = recordOf(afterPlan(aNode(1), [anInterface(0, { addresses: ['fd00::10/64'] })]))
  assert.deepEqual([record.id, record.mac, record.table, record.portId], [0, macOf(0), 100, 'port-0'])
  assert.deepEqual(record.addresses, ['10.100.0.10/24', 'fd00::10/64'])
  assert.deepEqual(record.mainRoutes, [
    '10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'fd00::/64 table 254 metric 20000 protocol 4',
  ])
  assert.deepEqual([record.marked.name, record.marked.slot], ['multinic0', 0])
  assert.deepEqual([record.former.name, record.former.mtu, record.former.up], ['ens4', 1500, false])
  const { portId: _, ...bare } = anInterface(0)
  const observed = afterPlan(aNode(1), [bare])
  assert.equal('portId' in recordOf(observed), false)
  assert.deepEqual(changesOf(planOf(observed, [bare])), [])
})

test('a NIC that already has a multinic name has no known former state', () => {
  const formerOf = (name: string) => recordOf(afterPlan(withLink({ name }), [anInterface(0)])).former
  assert.equal(formerOf('multinic3'), undefined)
  for (const name of ['multinic33', 'xmultinic3', 'multinicx']) assert.equal(formerOf(name)?.name, name)
  const lost = without(recordPath(hostPaths, macOf(0)), withLink({ name: 'lan0' }, configured))
  assert.equal(
    recordOf(afterPlan(lost, [anInterface(0)])).former,
    undefined,
    'our files are there without their record',
  )
})

test('a port that is no longer requested as altname goes', () => {
  const { portId: _, ...bare } = anInterface(0)
  assert.deepEqual(kernelChangesOf(planOf(configured, [bare])), ['remove altname port-0'])
})

test('udev’s altname with the MAC address is kept in our .link file', () => {
  const linkFile = (observed: Observed) =>
    afterPlan(observed, [anInterface(0)]).files['/etc/systemd/network/05-multinic0.link']?.text ?? ''
  assert.match(linkFile(withLink({ altnames: ['enxfa163e000001'] })), /slot path mac\n/)
  assert.match(linkFile(aNode(1)), /slot path\n/)
})

test('sysctls stay as they are if nobody knows their former values', () => {
  const accepting = { NETWORK_ACCEPT_RA: 'true' }
  const restored = (observed: Observed) =>
    linesOf(planOf(observed, [anInterface(0)], accepting)).filter(line => /(accept_ra|autoconf) 0 to 1/.test(line))
  assert.equal(restored(configured).length, 2)
  assert.deepEqual(restored(without('/etc/sysctl.d/90-multinic0.conf', configured)), [])
  assert.deepEqual(restored(without(recordPath(hostPaths, macOf(0)), configured)), [])
  assert.deepEqual(restored(afterPlan(withLink({ name: 'multinic3' }), [anInterface(0)])), [])
})
