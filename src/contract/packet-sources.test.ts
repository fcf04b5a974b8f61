/** Which sources of packets belong to a NIC, beside other NICs and reserved networks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cidr, networkOf, parseCidr } from './address.ts'
import { disjoint, type PacketSource, packetSources } from './packet-sources.ts'

const cidr = (text: string): Cidr => parseCidr(text) ?? assert.fail(text)
const sourcesOf = (
  index: number,
  addresses: readonly string[],
  others: readonly [index: number, network: string][] = [],
  reserved: readonly string[] = [],
): PacketSource[] =>
  packetSources(index, addresses.map(cidr), {
    others: others.map(([other, network]) => ({ index: other, network: cidr(network) })),
    reservedBy: network => (reserved.includes(networkOf(network)) ? 'reserved for this test' : undefined),
  })
/** `10.0.0.1/32 in 10.0.0.0/24` for a source in a shared network. */
const textOf = ({ cidr: text, sharedNetwork }: PacketSource) =>
  sharedNetwork === undefined ? text : `${text} in ${sharedNetwork}`

type Case = [addresses: string[], expected: string[], others?: [index: number, network: string][], reserved?: string[]]
const [ours, theirs] = ['10.1.0.10/24', '10.1.0.11/24']
const cases: Record<string, Case> = {
  'a network of its own is one source': [[ours], ['10.1.0.0/24']],
  'a network of IPv6 of its own is one source': [['fd00:1::10/64'], ['fd00:1::/64']],
  'two addresses in one network are one source': [[ours, '10.1.0.20/24'], ['10.1.0.0/24']],
  'networks keep the order of the addresses': [
    ['fd00:1::10/64', ours],
    ['fd00:1::/64', '10.1.0.0/24'],
  ],
  'an address of full length is a source itself': [
    ['10.1.0.10/32', 'fd00:1::10/128'],
    ['10.1.0.10/32', 'fd00:1::10/128'],
  ],
  'an address of full length in a network of another NIC is a source itself': [
    ['10.1.0.10/32'],
    ['10.1.0.10/32'],
    [[0, theirs]],
  ],
  'NICs in different networks do not affect each other': [[ours], ['10.1.0.0/24'], [[0, '10.2.0.11/24']]],
  'the first NIC of a shared network has its address, and the network': [
    [ours],
    ['10.1.0.10/32 in 10.1.0.0/24', '10.1.0.0/24'],
    [[3, theirs]],
  ],
  'the second NIC of a shared network has its address alone': [[ours], ['10.1.0.10/32 in 10.1.0.0/24'], [[1, theirs]]],
  'the NIC in the middle of three is not the first': [
    [ours],
    ['10.1.0.10/32 in 10.1.0.0/24'],
    [
      [1, theirs],
      [3, '10.1.0.12/24'],
    ],
  ],
  'the first NIC of a shared network of IPv6 has its address, and the network': [
    ['fd00:1::10/64'],
    ['fd00:1::10/128 in fd00:1::/64', 'fd00:1::/64'],
    [[3, 'fd00:1::11/64']],
  ],
  'a NIC whose network is inside that of another NIC has its address alone': [
    ['10.1.0.10/26'],
    ['10.1.0.10/32 in 10.1.0.0/26'],
    [[3, theirs]],
  ],
  'a NIC whose network contains that of another NIC has its address alone': [
    [ours],
    ['10.1.0.10/32 in 10.1.0.0/24'],
    [[3, '10.1.0.70/26']],
  ],
  'of several networks only the shared one has an address': [
    [ours, '10.5.0.10/24'],
    ['10.1.0.10/32 in 10.1.0.0/24', '10.5.0.0/24'],
    [[1, theirs]],
  ],
  'a reserved network has its address alone': [[ours], ['10.1.0.10/32 in 10.1.0.0/24'], [], ['10.1.0.0/24']],
  'a reserved network has its address alone for the first NIC of a shared network too': [
    [ours],
    ['10.1.0.10/32 in 10.1.0.0/24'],
    [[3, theirs]],
    ['10.1.0.0/24'],
  ],
}
for (const [name, [addresses, expected, others, reserved]] of Object.entries(cases))
  test(`${name}`, () => {
    assert.deepEqual(sourcesOf(2, addresses, others, reserved).map(textOf), expected)
  })

test('each source has the family of its address', () => {
  assert.deepEqual(
    sourcesOf(2, [ours, 'fd00:1::10/64', '10.5.0.10/32']).map(({ family }) => family),
    [4, 6, 4],
  )
})

const lists: Record<string, [entries: Record<string, string>, expected: string[]]> = {
  'entries that do not overlap stay, in the order of their addresses': [
    { '10.9.0.0/16': 'a', '10.100.0.0/24': 'b', '10.2.0.0/16': 'c' },
    ['10.2.0.0/16 c', '10.9.0.0/16 a', '10.100.0.0/24 b'],
  ],
  'a network is cut around an address with another target': [
    { '10.1.0.0/30': 'a', '10.1.0.1/32': 'b' },
    ['10.1.0.0/32 a', '10.1.0.1/32 b', '10.1.0.2/31 a'],
  ],
  'an address with the target of its network needs no entry': [
    { '10.1.0.5/32': 'a', '10.1.0.0/24': 'a' },
    ['10.1.0.0/24 a'],
  ],
  'an address inside two networks goes to the smaller one': [
    { '10.1.0.0/29': 'a', '10.1.0.4/30': 'b', '10.1.0.6/32': 'a' },
    ['10.1.0.0/30 a', '10.1.0.4/31 b', '10.1.0.6/32 a', '10.1.0.7/32 b'],
  ],
  'neighbours stay': [{ '10.1.1.0/24': 'a', '10.1.0.0/24': 'a' }, ['10.1.0.0/24 a', '10.1.1.0/24 a']],
  'text that is no network goes': [{ nonsense: 'a', 'fd00::/64': 'b' }, ['fd00::/64 b']],
}
for (const [name, [entries, expected]] of Object.entries(lists))
  test(`disjoint networks: ${name}`, () => {
    const found = disjoint(Object.entries(entries).map(([cidr, to]) => ({ cidr, to })))
    assert.deepEqual(
      found.map(({ cidr, to }) => `${cidr} ${to}`),
      expected,
    )
  })

test('disjoint networks: of two equal ones the first stays', () => {
  const found = disjoint(['a', 'b'].map(to => ({ cidr: '10.1.0.0/16', to })))
  assert.deepEqual(found, [{ cidr: '10.1.0.0/16', to: 'a' }])
})
