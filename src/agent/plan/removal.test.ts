/** NICs that are no longer requested: what they lose, what they get back, and when they stay as they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { hostPaths } from '../paths.ts'
import { describeChange } from '../state/change.ts'
import type { Link, Observed } from '../state/observed.ts'
import { recordPath } from '../state/ownership.ts'
import { afterPlan, aLink, aNode, anAddress, anInterface, changesOf, macOf, planOf } from '../test/agent.fixture.ts'

const configured = afterPlan(aNode(1), [anInterface(0)])
const withLinks = (...links: Partial<Link>[]): Observed => ({
  ...configured,
  links: [...configured.links, ...links.map(link => aLink({ ifindex: 9, macAddress: macOf(8), ...link }))],
})
const onLink = (values: Partial<Link>): Observed => ({
  ...configured,
  links: configured.links.map(link => (link.ifindex === 3 ? { ...link, ...values } : link)),
})
const text = (content: string, uid = 0) => ({ text: content, mode: 0o600, uid, gid: 0 })
/** Without what all NICs share. */
const unitsOf = (observed: Observed, requested: readonly Interface[] = []) =>
  planOf(observed, requested).units.filter(({ purpose }) => purpose !== 'node')
const removalOf = (observed: Observed) => unitsOf(observed).flatMap(({ changes }) => changes.map(describeChange))
const kernelChanges = (observed: Observed) =>
  removalOf(observed).filter(line => /^(link|rename|mtu|remove address)/.test(line))

const rules = [
  'remove rule from 10.100.0.0/24 iif lo lookup 100 priority 10070',
  'remove rule from 10.100.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060',
  'remove rule from 0.0.0.0/0 iif multinic0 fwmark 0x8/0x78 lookup 254 priority 9999',
  'remove rule from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000',
]
const files = [
  'remove /etc/systemd/network/05-multinic0.link',
  'remove /etc/netplan/90-multinic0.yaml',
  'remove /etc/systemd/network/05-multinic0.network',
  'remove /etc/sysctl.d/90-multinic0.conf',
  'remove /var/lib/multinic/nics/fa163e000001.json',
]

test('a removed NIC loses all that is ours and gets its former name, MTU and sysctls back', () => {
  const [unit, ...others] = unitsOf(configured)
  assert.deepEqual(others, [])
  assert.deepEqual(unit?.changes.map(describeChange), [
    ...rules,
    'remove route 10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
    'remove route 10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'remove route 0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4',
    'remove address 10.100.0.10/24 noprefixroute',
    'remove altname port-0',
    'link down',
    'rename multinic0 to ens4',
    'mtu 1450 to 1500',
    'ipv4.arp_announce 2 to 0',
    'ipv4.arp_ignore 1 to 0',
    'ipv4.rp_filter 2 to 0',
    'ipv6.accept_ra 0 to 1',
    'ipv6.autoconf 0 to 1',
    ...files,
  ])
  const { changes: _, ...rest } = unit ?? {}
  assert.deepEqual(rest, {
    ...{ purpose: 'remove', index: 0, name: 'multinic0', macAddress: macOf(0), ifindex: 3 },
    group: `remove multinic0 ${macOf(0)}`,
  })
})

test('a detached NIC leaves rules and files, which go', () => {
  const detached = {
    ...configured,
    links: configured.links.filter(({ ifindex }) => ifindex !== 3),
    addresses: configured.addresses.filter(({ ifindex }) => ifindex !== 3),
    routes: configured.routes.filter(({ devices }) => !devices.includes(3)),
  }
  assert.deepEqual(removalOf(detached), [...rules, ...files])
  assert.equal(planOf(detached, []).units[0]?.ifindex, undefined)
})

test('a former name that another device has is not given back', () => {
  for (const observed of [withLinks({ name: 'ens4' }), withLinks({ name: 'lan0', altnames: ['x', 'ens4'] })])
    assert.ok(removalOf(observed).includes('rename multinic0 to nic3'))
  const ownAltname = onLink({ altnames: ['ens4', 'port-0'] })
  assert.ok(removalOf(ownAltname).includes('rename multinic0 to ens4'))
  assert.ok(removalOf(ownAltname).includes('remove altname ens4'), 'udev made it an altname')
})

test('a former name that no device can have is not given back', () => {
  const path = recordPath(hostPaths, macOf(0))
  const record = configured.files[path]?.text ?? ''
  for (const name of ['ens4 up; reboot', 'a234567890123456', ''])
    assert.ok(
      removalOf({
        ...configured,
        files: { ...configured.files, [path]: text(record.replace('"ens4"', JSON.stringify(name))) },
      }).includes('rename multinic0 to nic3'),
      name,
    )
})

test('a NIC that somebody renamed keeps that name', () => {
  for (const name of ['lan0', 'multinic0x', 'xmultinic0'])
    assert.ok(!removalOf(onLink({ name })).some(line => line.startsWith('rename')), name)
})

test('a removed NIC keeps its link-local address', () => {
  const local = anAddress(3, 'fe80::1/64', { linkLocal: true })
  assert.deepEqual(removalOf({ ...configured, addresses: [...configured.addresses, local] }), removalOf(configured))
})

test('a NIC whose record has no former state gets a neutral name', () => {
  const path = recordPath(hostPaths, macOf(0))
  const { former: _, ...record } = JSON.parse(configured.files[path]?.text ?? '')
  const observed = { ...configured, files: { ...configured.files, [path]: text(JSON.stringify(record)) } }
  assert.ok(removalOf(observed).includes('rename multinic0 to nic3'))
})

test('a NIC with a foreign address keeps it and stays up', () => {
  const shared = { ...configured, addresses: [...configured.addresses, anAddress(3, '192.0.2.7/24')] }
  assert.deepEqual(kernelChanges(shared), [
    'remove address 10.100.0.10/24 noprefixroute',
    'rename multinic0 to ens4',
    'mtu 1450 to 1500',
  ])
})

test('a NIC that was up before stays up; one that is down stays down', () => {
  const start = aNode(1)
  const up = { ...start, links: start.links.map(link => (link.ifindex === 3 ? { ...link, up: true } : link)) }
  assert.ok(!kernelChanges(afterPlan(up, [anInterface(0)])).includes('link down'))
  assert.ok(!kernelChanges(onLink({ up: false })).some(line => line.startsWith('link')))
})

test('without a record nobody knows the former state, so addresses, MTU and link stay', () => {
  const { [recordPath(hostPaths, macOf(0))]: _, ...rest } = configured.files
  assert.deepEqual(kernelChanges({ ...configured, files: rest }), ['rename multinic0 to nic3'])
  assert.deepEqual(
    removalOf({ ...configured, files: rest }).filter(line => line.startsWith('remove /')),
    files.slice(0, -1),
  )
})

test('a NIC of NetworkManager returns to it, with its lease', () => {
  const directories = [hostPaths.networkManager, hostPaths.state]
  const managed = aNode(1, { managers: { 3: 'other' }, directories })
  const leased = anAddress(3, '10.100.0.77/24', { lifetime: { valid: 600, preferred: 600 } })
  const lastOf = (observed: Observed) => planOf(afterPlan(observed, [anInterface(0)]), []).units[0]?.changes.at(-1)
  assert.deepEqual(lastOf(managed), { kind: 'manager', from: 'none', to: 'other' })
  assert.deepEqual(lastOf({ ...managed, addresses: [...managed.addresses, leased] }), {
    ...{ kind: 'manager', from: 'none', to: 'other', leased: true },
  })
  assert.ok(!removalOf(configured).includes('return to NetworkManager'))
})

const protectedNics: Record<string, [Observed, string]> = {
  'another device has its MAC address': [
    withLinks({ name: 'ens9', macAddress: macOf(0) }),
    `NicAmbiguous: multinic0 and ens9 have the same MAC address ${macOf(0)}`,
  ],
  'its index is the name of another device': [
    withLinks({ name: 'if3' }),
    'InterfaceNameInUse: another device has the name if3, which ip also reads as ifindex 3',
  ],
  'a VLAN would be disturbed': [
    withLinks({ name: 'v', kind: 'vlan', lower: 'multinic0' }),
    'LinkHasUpperDevices: v uses multinic0 as lower device; remove it first',
  ],
  'it has the address of the node': [
    { ...configured, addresses: [...configured.addresses, anAddress(3, '10.0.0.10/32')] },
    "HasNodeAddress: multinic0 has the node's address 10.0.0.10/32",
  ],
  'somebody else owns one of its files': [
    { ...configured, files: { ...configured.files, '/etc/netplan/90-multinic0.yaml': text('', 1000) } },
    'ForeignFile: /etc/netplan/90-multinic0.yaml is owned by uid 1000, not by root; multinic needs this path',
  ],
}
for (const [why, [observed, expected]] of Object.entries(protectedNics))
  test(`a NIC that is no longer requested stays if ${why}`, () => {
    const planned = planOf(observed, [])
    assert.deepEqual(changesOf(planned), [])
    assert.deepEqual(
      planned.unremovable.map(({ name, refusal }) => `${name} ${refusal.reason}: ${refusal.message}`),
      [`multinic0 ${expected}`],
    )
  })

test('a VLAN keeps a NIC that would only go down, or only get another name', () => {
  const vlan = (lower: string) => aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower })
  const start = aNode(1)
  const up = { ...start, links: start.links.map(link => (link.ifindex === 3 ? { ...link, up: true } : link)) }
  const stays = afterPlan(up, [anInterface(0)])
  const down = onLink({ name: 'lan0' })
  for (const observed of [
    { ...down, links: [...down.links, vlan('lan0')] },
    { ...stays, links: [...stays.links, vlan('multinic0')] },
  ])
    assert.equal(planOf(observed, []).unremovable[0]?.refusal.reason, 'LinkHasUpperDevices')
})

test('without a record, a NIC without addresses goes down', () => {
  const { [recordPath(hostPaths, macOf(0))]: _, ...rest } = configured.files
  const unused = { ...configured, files: rest, addresses: aNode(1).addresses }
  assert.deepEqual(kernelChanges(unused), ['link down', 'rename multinic0 to nic3'])
})

test('an old record does not remove the files of the NIC that has its index now', () => {
  const request = [anInterface(0, { macAddress: macOf(1) })]
  const now = afterPlan(aNode(2), request)
  const path = recordPath(hostPaths, macOf(0))
  const old = configured.files[path] ?? assert.fail('no record')
  assert.deepEqual(
    unitsOf({ ...now, files: { ...now.files, [path]: old } }, request).flatMap(({ changes }) =>
      changes.filter(({ kind }) => kind === 'file').map(describeChange),
    ),
    ['remove /var/lib/multinic/nics/fa163e000001.json'],
  )
})

test('a copy of our file at an index that nobody uses goes, and the NIC keeps its rules', () => {
  const request = [anInterface(0), anInterface(1)]
  const both = afterPlan(aNode(2), request)
  const copy = both.files['/etc/netplan/90-multinic0.yaml'] ?? assert.fail('no file')
  const observed = { ...both, files: { ...both.files, '/etc/netplan/95-multinic5.yaml': copy } }
  assert.deepEqual(changesOf(planOf(observed, request)), ['multinic5: remove /etc/netplan/95-multinic5.yaml'])
})

test('a stray file goes with the rules that it names', () => {
  const { text: original } = configured.files['/etc/systemd/network/05-multinic0.network'] ?? assert.fail('no file')
  const stray = text(original.replace(/MACAddress=.*\n/, ''))
  const observed = aNode(1, { rules: configured.rules, files: { '/etc/systemd/network/05-multinic5.network': stray } })
  assert.ok(removalOf(observed).includes('remove rule from 10.100.0.0/24 iif lo lookup 100 priority 10070'))
  assert.equal(removalOf(observed).at(-1), 'remove /etc/systemd/network/05-multinic5.network')
})

test('a NIC that gets the index of a stray file overwrites it, and reports the rules that it names', () => {
  const { text: original } = configured.files['/etc/systemd/network/05-multinic0.network'] ?? assert.fail('no file')
  const stray = text(original.replace(/MACAddress=.*\n/, ''))
  const rule = configured.rules.filter(({ priority }) => priority === 10_070)
  const observed = aNode(1, { rules: rule, files: { '/etc/systemd/network/05-multinic5.network': stray } })
  const planned = planOf(observed, [anInterface(5, { macAddress: macOf(0) })], { NETWORK_ROUTING_TABLE_BASE: '95' })
  assert.ok(!changesOf(planned).some(line => line.includes('remove rule')))
  assert.deepEqual(planned.foreignRules.get(5), ['from 10.100.0.0/24 iif lo lookup 100 priority 10070'])
})

test('a NIC that gives its index to another one leaves the files without a MAC address to it', () => {
  const before = afterPlan(aNode(2), [anInterface(0)])
  const units = unitsOf(before, [anInterface(0, { macAddress: macOf(1) })])
  assert.deepEqual(
    units.map(({ purpose, changes }) => [
      purpose,
      ...changes.filter(({ kind }) => kind === 'file').map(describeChange),
    ]),
    [
      [
        'remove',
        'remove /etc/systemd/network/05-multinic0.link',
        'remove /etc/netplan/90-multinic0.yaml',
        'remove /etc/systemd/network/05-multinic0.network',
        'remove /var/lib/multinic/nics/fa163e000001.json',
      ],
      [
        'apply',
        'write /etc/systemd/network/05-multinic0.link',
        'write /etc/netplan/90-multinic0.yaml',
        'write /etc/systemd/network/05-multinic0.network',
        'write /var/lib/multinic/nics/fa163e000002.json',
      ],
    ],
  )
})

test('a VLAN does not keep a NIC that stays up with its name and its MTU', () => {
  const start = aNode(1)
  const up = { ...start, links: start.links.map(link => (link.ifindex === 3 ? { ...link, up: true } : link)) }
  const now = afterPlan(up, [anInterface(0)])
  const stacked = (mtu: number): Observed => ({
    ...now,
    links: [
      ...now.links.map(link => (link.ifindex === 3 ? { ...link, name: 'lan0', mtu } : link)),
      aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower: 'lan0' }),
    ],
  })
  for (const mtu of [1450, 1500]) assert.deepEqual(planOf(stacked(mtu), []).unremovable, [])
  assert.equal(planOf(stacked(1501), []).unremovable.length, 1)
})

test('a NIC that gets the index of a removed one gets its name and files too', () => {
  const before = afterPlan(aNode(2), [anInterface(0)])
  const request = [anInterface(0, { macAddress: macOf(1) })]
  const after = afterPlan(before, request)
  assert.deepEqual(
    after.links.map(({ name }) => name),
    ['lo', 'ens3', 'ens4', 'multinic0'],
  )
  assert.deepEqual(Object.keys(after.files).sort(), [
    '/etc/netplan/90-multinic0.yaml',
    '/etc/sysctl.d/90-multinic0.conf',
    '/etc/systemd/network/05-multinic0.link',
    '/etc/systemd/network/05-multinic0.network',
    '/var/lib/multinic/nics/fa163e000002.json',
    '/var/lib/multinic/node.json',
  ])
  assert.deepEqual(changesOf(planOf(after, request)), [])
})

test('a stray file of an index that nobody uses goes, and a foreign one stays', () => {
  const strays = {
    '/etc/netplan/95-multinic5.yaml': text('network: {}'),
    '/etc/netplan/96-multinic6.yaml': text('network: {}', 1000),
    '/etc/netplan/50-cloud-init.yaml': text('network: {}'),
  }
  const planned = planOf(aNode(1, { files: strays }), [])
  assert.deepEqual(changesOf(planned), ['multinic5: remove /etc/netplan/95-multinic5.yaml'])
  assert.deepEqual(planned.unremovable, [])
  const beside = planOf(aNode(1, { files: strays }), [anInterface(0)])
  assert.ok(changesOf(beside).includes('multinic5: remove /etc/netplan/95-multinic5.yaml'))
  const used = planOf(aNode(1, { files: strays }), [anInterface(5, { macAddress: macOf(0) })])
  assert.ok(!changesOf(used).some(line => line.includes('remove /')))
})

test('NICs that are requested stay, whatever else is removed', () => {
  const two = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  assert.deepEqual(
    unitsOf(two, [anInterface(1)]).map(({ purpose, name }) => `${purpose} ${name}`),
    ['remove multinic0'],
  )
})
