/** Which rules a NIC and the node have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Family, parseCidr } from '../../contract/address.ts'
import type { PacketSource } from '../../contract/packet-sources.ts'
import { hex, isOurPriority, otherWayMark, primaryTable, priorities, slotMark } from '../../contract/routing-scheme.ts'
import { ipCommand, ruleText } from '../state/change.ts'
import { nicRules, sharedRules } from './policy-routing.ts'

const cidr = (text: string) => parseCidr(text) ?? assert.fail(text)
const source = (text: string, sharedNetwork?: string): PacketSource => ({
  ...{ family: text.includes(':') ? 6 : 4, cidr: text },
  ...(sharedNetwork === undefined ? {} : { sharedNetwork }),
})
const nic2 = { index: 2, name: 'multinic2', table: 102, mark: 0x18, mask: 0x78 }
const mark4 = [
  'from 0.0.0.0/0 iif multinic2 fwmark 0x18/0x78 lookup 254 priority 9999',
  'from 0.0.0.0/0 fwmark 0x18/0x78 lookup 102 priority 10002',
]
const mark6 = mark4.map(text => text.replace('0.0.0.0', '::'))
const network4 = [
  'from 10.1.0.0/24 iif lo lookup 102 priority 10072',
  'from 10.1.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10062',
]
const address4 = [
  'from 10.1.0.10/32 iif lo lookup 102 priority 10052',
  'from 10.1.0.10/32 iif lo lookup 254 suppress_prefixlength 7 priority 10042',
]
const shared4 = [
  ...address4,
  'from 10.1.0.10/32 iif lo lookup 102 suppress_prefixlength 0 priority 10032',
  'from 10.1.0.10/32 to 10.1.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10022',
]

const nics: Record<string, [sources: PacketSource[], expected: string[]]> = {
  'no sources have no rules': [[], []],
  'a network of its own has its table after all other routes': [[source('10.1.0.0/24')], [...network4, ...mark4]],
  'an address without a network has the same rules, before those of networks': [
    [source('10.1.0.10/32')],
    [...address4, ...mark4],
  ],
  'the second NIC of a shared network reaches it by itself': [
    [source('10.1.0.10/32', '10.1.0.0/24')],
    [...shared4, ...mark4],
  ],
  'the first NIC of a shared network has the rules of its address and of the network': [
    [source('10.1.0.10/32', '10.1.0.0/24'), source('10.1.0.0/24')],
    [...shared4, ...network4, ...mark4],
  ],
  'each family has rules of its own, and its own mark rule': [
    [source('fd00:1::/64'), source('10.1.0.0/24'), source('fd00:2::10/128', 'fd00:2::/64')],
    [
      ...network4,
      ...mark4,
      'from fd00:1::/64 iif lo lookup 102 priority 10072',
      'from fd00:1::/64 iif lo lookup 254 suppress_prefixlength 7 priority 10062',
      'from fd00:2::10/128 iif lo lookup 102 priority 10052',
      'from fd00:2::10/128 iif lo lookup 254 suppress_prefixlength 7 priority 10042',
      'from fd00:2::10/128 iif lo lookup 102 suppress_prefixlength 0 priority 10032',
      'from fd00:2::10/128 to fd00:2::/64 iif lo lookup 254 suppress_prefixlength 64 priority 10022',
      ...mark6,
    ],
  ],
}
for (const [name, [sources, expected]] of Object.entries(nics))
  test(`the rules of a NIC: ${name}`, () => {
    assert.deepEqual(nicRules(nic2, sources).map(ruleText), expected)
  })

const hosts = (count: number, network?: string) =>
  Array.from({ length: count }, (_, host) => source(`10.1.0.${host + 1}/32`, network))
const many: Record<string, [sources: PacketSource[], count: number]> = {
  'three networks': [hosts(3), 8],
  'four networks': [hosts(4), 8],
  'forty networks': [hosts(40), 8],
  'two shared networks': [hosts(2, '10.1.0.0/24'), 6],
  'a shared network and a network': [[...hosts(1, '10.1.0.0/24'), source('10.2.0.0/24')], 8],
  'a shared network and two networks': [[...hosts(1, '10.1.0.0/24'), source('10.2.0.0/24'), source('10.3.0.0/24')], 8],
}
for (const [what, [sources, count]] of Object.entries(many))
  test(`${what} have at most 8 rules, the mark rule among them, and the first sources have theirs`, () => {
    const rules = nicRules(nic2, sources)
    assert.equal(rules.length, count)
    assert.equal(rules.at(-1)?.fwmark, '0x18/0x78')
    assert.deepEqual(rules.slice(0, 2), nicRules(nic2, sources.slice(0, 1)).slice(0, 2))
    const both = nicRules(nic2, [...sources, source('fd00:1::/64')])
    assert.equal(both.length, count + 4, 'the rules of the other family are counted on their own')
  })

test('the rules of ten NICs differ in their priorities, except those of the reverse path', () => {
  const all = Array.from({ length: 10 }, (_, index) =>
    nicRules({ index, name: `multinic${index}`, table: 100 + index, mark: slotMark(index, 0x78), mask: 0x78 }, [
      source('10.1.0.10/32', '10.1.0.0/24'),
      source('10.1.0.0/24'),
    ]),
  ).flat()
  const primary = sharedRules(4, {
    ...table110,
    primary: [cidr('10.0.0.10/24')],
    networks: [cidr('10.1.0.0/24')],
    sources: [cidr('10.1.0.0/24')],
    skips: true,
  })
  const [reverse = [], others = []] = [true, false].map(isReverse =>
    [...all, ...primary].filter(({ priority }) => (priority === priorities.reversePath) === isReverse),
  )
  assert.equal(new Set(others.map(({ priority }) => priority)).size, others.length)
  assert.equal(new Set(reverse.map(({ iif }) => iif)).size, 10)
})

const marks: Record<string, [mask: number, marks: string[]]> = {
  'the bits 3 to 6': [0x78, ['0x8', '0x50', '0x58']],
  'the lowest bits': [0xf, ['0x1', '0xa', '0xb']],
  'the highest bits': [0xf0000000, ['0x10000000', '0xa0000000', '0xb0000000']],
  'bits in the middle': [0x780000, ['0x80000', '0x500000', '0x580000']],
}
for (const [where, [mask, expected]] of Object.entries(marks))
  test(`marks use ${where}, and are inside of the mask`, () => {
    const found = [slotMark(0, mask), slotMark(9, mask), otherWayMark(mask)]
    assert.deepEqual(found.map(hex), expected)
    const all = [...Array.from({ length: 10 }, (_, slot) => slotMark(slot, mask)), otherWayMark(mask)]
    assert.equal(new Set(all).size, 11)
    for (const mark of all) assert.equal(BigInt(mark) & ~BigInt(mask), 0n)
  })

const table110 = { table: primaryTable(100), mask: 0x78 }
type Primary = [family: Family, primary: string[], networks: string[], expected: string[]]
const otherWay = 'from 0.0.0.0/0 fwmark 0x58/0x78 lookup 110 priority 10010'
const nodes: Record<string, Primary> = {
  'without networks of NICs there are none': [4, ['10.0.0.10/24'], [], []],
  'networks of the other family do not count': [4, ['10.0.0.10/24'], ['fd00:1::/64'], []],
  'the longest network decides what is more specific than any of them': [
    4,
    ['10.0.0.10/24'],
    ['10.1.0.0/24', '10.2.0.0/26', '10.3.0.0/16', 'fd00:1::/64'],
    [
      'from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'from 10.0.0.0/24 iif lo lookup 254 suppress_prefixlength 26 priority 10090',
      otherWay,
    ],
  ],
  'each network of the primary NIC has two rules, once': [
    4,
    ['10.0.0.10/24', '10.0.0.11/24', '192.168.0.10/16', 'fd00::10/64'],
    ['10.1.0.0/24'],
    [
      'from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'from 10.0.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10090',
      'from 192.168.0.0/16 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'from 192.168.0.0/16 iif lo lookup 254 suppress_prefixlength 24 priority 10090',
      otherWay,
    ],
  ],
  "an address inside a network of the primary NIC, such as keepalived's, has no rules of its own": [
    4,
    ['10.0.0.200/32', '10.0.0.10/24'],
    ['10.1.0.0/24'],
    [
      'from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'from 10.0.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10090',
      otherWay,
    ],
  ],
  'replies have their way without a network of the primary NIC too': [4, [], ['10.1.0.0/24'], [otherWay]],
  'IPv6 has the same rules': [
    6,
    ['10.0.0.10/24', 'fd00::10/64'],
    ['10.1.0.0/24', 'fd00:1::/64'],
    [
      'from fd00::/64 iif lo lookup 110 suppress_prefixlength 0 priority 10091',
      'from fd00::/64 iif lo lookup 254 suppress_prefixlength 64 priority 10090',
      'from ::/0 fwmark 0x58/0x78 lookup 110 priority 10010',
    ],
  ],
}
for (const [name, [family, primary, networks, expected]] of Object.entries(nodes))
  test(`the rules of the node: ${name}`, () => {
    const input = { ...table110, primary: primary.map(cidr), networks: networks.map(cidr), sources: [], skips: false }
    assert.deepEqual(sharedRules(family, input).map(ruleText), expected)
  })

const unmarked = 'from 0.0.0.0/0 fwmark 0/0x78 goto 10012 priority 9998'
const forwarded = 'not from 0.0.0.0/0 iif lo goto 10095 priority 10012'
const unbound = 'from 0.0.0.1/31 iif lo goto 10095 priority 10013'
const end = 'from 0.0.0.0/0 nop priority 10095'
type Skips = [family: Family, values: Partial<Record<'primary' | 'networks' | 'sources', string[]>>, expected: string[]]
const skips: Record<string, Skips> = {
  'without a NIC nothing is skipped': [4, { primary: ['10.0.0.10/24'] }, []],
  'without a NIC of the family nothing is skipped': [4, { sources: ['fd00:1::/64'] }, []],
  'packets without a mark skip mark rules; forwarded ones and those without a source skip all': [
    4,
    { sources: ['10.1.0.0/24'] },
    [end, unbound, forwarded, unmarked],
  ],
  'IPv6 has no source that stands for none': [
    6,
    { sources: ['fd00:1::/64'] },
    [
      'from ::/0 nop priority 10095',
      'not from ::/0 iif lo goto 10095 priority 10012',
      'from ::/0 fwmark 0/0x78 goto 10012 priority 9998',
    ],
  ],
  'packets of the node’s address skip the rules of NICs': [
    4,
    { primary: ['10.0.0.10/24'], sources: ['10.1.0.0/24'] },
    [end, 'from 10.0.0.0/24 iif lo goto 10095 priority 10014', unbound, forwarded, unmarked],
  ],
  'where the node has a way to networks of NICs, they do not skip it': [
    4,
    { primary: ['10.0.0.10/24'], sources: ['10.1.0.0/24'], networks: ['10.1.0.0/24'] },
    [end, 'from 10.0.0.0/24 iif lo goto 10090 priority 10014', unbound, forwarded, unmarked],
  ],
  'they skip nothing where a NIC is in the same network': [
    4,
    { primary: ['10.0.0.10/24'], sources: ['10.0.0.50/32'] },
    [end, unbound, forwarded, unmarked],
  ],
}
for (const [name, [family, { primary = [], networks = [], sources = [] }, expected]] of Object.entries(skips))
  test(`skipped rules: ${name}`, () => {
    const input = { ...table110, primary: primary.map(cidr), networks: networks.map(cidr), sources: sources.map(cidr) }
    const all = sharedRules(family, { ...input, skips: true })
    const others = sharedRules(family, { ...input, skips: false })
    assert.deepEqual(all.slice(0, others.length), others)
    assert.deepEqual(all.slice(others.length).map(ruleText), expected)
  })

test('a priority of ours is any from the first to the last rule', () => {
  assert.deepEqual(
    [9_997, 9_998, 10_050, 10_095, 10_096].map(priority => isOurPriority(priority)),
    [false, true, true, true, false],
  )
})

test('the command of a rule names its family by an address, and the protocol of static configuration', () => {
  const [first, , ...marked] = nicRules(nic2, [source('fd00:1::/64')])
  const commandOf = (rule: typeof first) => rule && ipCommand({ kind: 'rule', op: 'add', rule }, 3)
  assert.equal(commandOf(first), 'rule add from fd00:1::/64 iif lo lookup 102 priority 10072 protocol 4')
  assert.deepEqual(
    marked.map(commandOf),
    mark6.map(text => `rule add ${text} protocol 4`),
  )
})
