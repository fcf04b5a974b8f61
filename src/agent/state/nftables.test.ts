/** The nftables tables as text, and how they are compared with what nft lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Family } from '../../contract/address.ts'
import { canonicalTable, type MarkedNic, type MarkedNode, nftErrorIn, nftScript, nftTable } from './nftables.ts'

const addressed = (cidr: string): { family: Family; cidr: string } => ({ family: cidr.includes(':') ? 6 : 4, cidr })
const nic = (slot: number, sources: string[], networks = sources, name = `multinic${slot}`): MarkedNic => ({
  ...{ name, slot, sources: sources.map(addressed), networks: networks.map(addressed) },
})
const node: MarkedNode = { mask: 0x78, wires: ['ens3'], otherWay: true }
const first = nic(0, ['10.100.0.0/24', 'fd00:1::/64'])
const three = [
  first,
  // Its index has changed; its slot has not.
  nic(7, ['10.100.0.10/32', 'fd00:2::10/128'], [], 'multinic4'),
  nic(9, ['10.9.0.0/16', 'fd00:9::/64']),
]

const oneNic = `table ip multinic {
	map enter {
		type ifname : verdict
		elements = { "multinic0" : goto enter0 }
	}
	map sources {
		type ipv4_addr : verdict
		flags interval
		elements = { 10.100.0.0/24 : goto from0 }
	}
	map services {
		type ipv4_addr : verdict
		flags interval
		elements = { 10.100.0.0/24 : goto mark0 }
	}
	set wires {
		type ifname
		elements = { "ens3", "multinic0" }
	}
	chain enter0 {
		ct label set 100
	}
	chain mark0 {
		meta mark set meta mark & 0xffffff8f | 0x00000008 accept
	}
	chain from0 {
		oifname != "multinic0" oifname @wires goto mark0
	}
	chain forwarded {
		iifname "multinic*" accept
		ct label 100 goto mark0
		ct label 98 meta mark set meta mark & 0xffffffdf | 0x00000058
	}
	chain local {
		oifname != "multinic0" ct label 100 goto mark0
		ip saddr vmap @sources
		ct label 98 meta mark set meta mark & 0xffffffdf | 0x00000058
	}
	chain prerouting {
		type filter hook prerouting priority dstnat + 10; policy accept;
		ct direction reply goto forwarded
		ct state != new accept
		iifname vmap @enter
		iifname @wires fib saddr oifname "multinic*" ct label set 98
	}
	chain output {
		type route hook output priority -90; policy accept;
		ct direction reply goto local
		ct status dnat ip daddr vmap @services
		ip saddr vmap @sources
	}
}
`
/** As nft 1.0.6 lists the table of three NICs, shortened. */
const listing = `table ip multinic {
	map enter {
		type ifname : verdict
		elements = { "multinic9" : goto enter9,
			     "multinic0" : goto enter0,
			     "multinic4" : goto enter7 }
	}

	map sources {
		type ipv4_addr : verdict
		flags interval
		elements = { 10.9.0.0/16 : goto from9, 10.100.0.0/24 : goto from0,
			     10.101.0.10 : goto from7 }
	}

	chain prerouting {
		type filter hook prerouting priority dstnat + 10; policy accept;
		ct state new iifname vmap @enter
	}
}
`
const listed = `table ip multinic {
	map enter {
		type ifname : verdict
		elements = { "multinic0" : goto enter0, "multinic4" : goto enter7, "multinic9" : goto enter9 }
	}
	map sources {
		type ipv4_addr : verdict
		flags interval
		elements = { 10.100.0.0/24 : goto from0, 10.101.0.10 : goto from7, 10.9.0.0/16 : goto from9 }
	}
	chain prerouting {
		type filter hook prerouting priority dstnat + 10; policy accept;
		ct state new iifname vmap @enter
	}
}
`

test('the table of one NIC', () => {
  assert.equal(nftTable(4, [first], node), oneNic)
})

test('the table of IPv6 differs in its addresses and their type alone', () => {
  assert.equal(
    nftTable(6, [first], node),
    oneNic
      .replace('table ip multinic', 'table ip6 multinic')
      .replaceAll('ipv4_addr', 'ipv6_addr')
      .replaceAll('10.100.0.0/24', 'fd00:1::/64')
      .replaceAll('ip daddr', 'ip6 daddr')
      .replaceAll('ip saddr', 'ip6 saddr'),
  )
})

test('without a way by the primary NIC, connections by other devices get no label and no mark', () => {
  const without = oneNic
    .split('\n')
    .filter(line => !line.includes('label set 98') && !line.includes('label 98'))
    .join('\n')
  assert.equal(nftTable(4, [first], { ...node, otherWay: false }), without)
})

/** The lines of a chain, map or set. */
const partOf = (table: string, name: string) => {
  const [, text = assert.fail(`no ${name}`)] = table.split(`\t${name} {\n`)
  return (text.split('\n\t}')[0] ?? '').split('\n').map(line => line.trim())
}
const ofThree: Record<string, string[]> = {
  'map enter': [
    'type ifname : verdict',
    'elements = { "multinic0" : goto enter0, "multinic4" : goto enter7, "multinic9" : goto enter9 }',
  ],
  'set wires': ['type ifname', 'elements = { "ens3", "multinic0", "multinic4", "multinic9" }'],
  'chain enter7': ['ct label set 107'],
  'chain mark7': ['meta mark set meta mark & 0xffffffc7 | 0x00000040 accept'],
  'chain from7': ['oifname != "multinic4" oifname @wires goto mark7'],
  'chain forwarded': [
    'iifname "multinic*" accept',
    'ct label 100 goto mark0',
    'ct label 107 goto mark7',
    'ct label 109 goto mark9',
    'ct label 98 meta mark set meta mark & 0xffffffdf | 0x00000058',
  ],
  'chain local': [
    'oifname != "multinic0" ct label 100 goto mark0',
    'oifname != "multinic4" ct label 107 goto mark7',
    'oifname != "multinic9" ct label 109 goto mark9',
    'IP saddr vmap @sources',
    'ct label 98 meta mark set meta mark & 0xffffffdf | 0x00000058',
  ],
}
for (const [part, expected] of Object.entries(ofThree))
  test(`three NICs are told apart by their slots: ${part}`, () => {
    for (const [family, ip] of [
      [4, 'ip'],
      [6, 'ip6'],
    ] as const)
      assert.deepEqual(
        partOf(nftTable(family, three, node), part),
        expected.map(line => line.replace('IP ', `${ip} `)),
      )
  })

test('networks that the main table does not have are no networks of services', () => {
  const [, , elements] = partOf(nftTable(4, three, node), 'map services')
  assert.equal(elements, 'elements = { 10.100.0.0/24 : goto mark0, 10.9.0.0/16 : goto mark9 }')
})

test('an address has no prefix length, as nft lists it', () => {
  const [, , elements] = partOf(nftTable(6, three, node), 'map sources')
  assert.equal(elements, 'elements = { fd00:1::/64 : goto from0, fd00:2::10 : goto from7, fd00:9::/64 : goto from9 }')
})

test('a NIC without an address of the family is in no map of addresses', () => {
  const table = nftTable(6, [nic(0, ['10.100.0.0/24'])], node)
  assert.deepEqual(partOf(table, 'map sources'), ['type ipv6_addr : verdict', 'flags interval'])
  assert.deepEqual(partOf(table, 'map services'), ['type ipv6_addr : verdict', 'flags interval'])
  assert.equal(partOf(table, 'map enter').length, 2)
})

test('an address pair inside the network of its NIC leaves the other addresses of the network in the map', () => {
  const [, , elements] = partOf(nftTable(4, [nic(0, ['10.100.0.0/24', '10.100.0.50/32'])], node), 'map sources')
  assert.equal(elements, 'elements = { 10.100.0.0/24 : goto from0 }')
})

test('a wire that is a NIC too is listed once', () => {
  const table = nftTable(4, [first], { ...node, wires: ['multinic0', 'ens3'] })
  assert.equal(partOf(table, 'set wires')[1], 'elements = { "ens3", "multinic0" }')
})

const masks: Record<string, [mask: number, nic: string, other: string]> = {
  'the lowest bits': [0xf, '0xfffffff1 | 0x00000001', '0xfffffffb | 0x0000000b'],
  'the highest bits': [0xf0000000, '0x1fffffff | 0x10000000', '0xbfffffff | 0xb0000000'],
}
for (const [where, [mask, own, other]] of Object.entries(masks))
  test(`marks in ${where} leave all other bits`, () => {
    const table = nftTable(4, [first], { ...node, mask })
    assert.deepEqual(partOf(table, 'chain mark0'), [`meta mark set meta mark & ${own} accept`])
    assert.equal(partOf(table, 'chain local').at(-1), `ct label 98 meta mark set meta mark & ${other}`)
  })

test('what nft lists becomes the same text, wrapped or not and in any order', () => {
  assert.equal(canonicalTable(listing), listed)
  assert.equal(canonicalTable(listed), listed)
  assert.equal(canonicalTable(oneNic), oneNic)
})

test('tables that differ in one element stay different', () => {
  assert.notEqual(canonicalTable(listing.replace('10.9.0.0/16', '10.8.0.0/16')), listed)
  assert.notEqual(canonicalTable(listing.replace('goto from9,', 'goto from7,')), listed)
  assert.notEqual(canonicalTable(listing.replace('priority dstnat + 10', 'priority dstnat')), listed)
})

test('a script puts a table in place of any other one, or removes it without an error if there is none', () => {
  assert.equal(nftScript(4, oneNic), `table ip multinic\ndelete table ip multinic\n${oneNic}`)
  assert.equal(nftScript(6, undefined), 'table ip6 multinic\ndelete table ip6 multinic\n')
})

const errors: Record<string, [stderr: string, expected: string]> = {
  'with a place in the script': [
    '/dev/stdin:2:1-12: Error: Could not process rule: Operation not supported\ntable ip multinic\n^^^^^^^^^^^^\n',
    'Could not process rule: Operation not supported',
  ],
  'without a place': ['Error: No such file or directory\n', 'No such file or directory'],
  'of another form': ['\nthere is no nft program\nmore', 'there is no nft program'],
  'that are missing': ['', 'no error message'],
}
for (const [what, [stderr, expected]] of Object.entries(errors))
  test(`errors ${what} become one line`, () => {
    assert.equal(nftErrorIn(stderr), expected)
  })
