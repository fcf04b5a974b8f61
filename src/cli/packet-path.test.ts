/** Which rule, table and device packets use on a node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseIp } from '../contract/address.ts'
import type { CompleteWireInterface } from '../contract/interfaces.ts'
import { type PacketPath, packetPaths, questions } from './packet-path.ts'

const nic = (id: number, more: Partial<CompleteWireInterface>): CompleteWireInterface => ({
  id,
  name: `multinic${id}`,
  macAddress: `02:00:00:00:00:0${id}`,
  ...more,
})
const ip = (text: string) => parseIp(text) ?? assert.fail(text)

/** `from 10.1.0.5: multinic1 via 10.1.0.1 table 101 rule 10071 | rule <10071, route >=8 not by port` */
function textOf({ packets, from, mark, overriddenBy: by, withoutRouter, ...path }: PacketPath): string {
  const device = path.device ?? path.by
  const way = [device, path.gateway && `via ${path.gateway}`, `table ${path.table} rule ${path.priority}`]
  const overrides = by && [
    `rule <${by.priorityBelow}`,
    by.minPrefix && `route >=${by.minPrefix}`,
    by.metricBelow && `metric <${by.metricBelow}`,
    by.notByPort && 'not by port',
    withoutRouter && `or ${withoutRouter.device} table ${withoutRouter.table}`,
  ]
  const about = [from ? `from ${from}` : packets, mark && `mark ${mark}`].filter(Boolean).join(' ')
  return `${about}: ${way.filter(Boolean).join(' ')}${overrides ? ` | ${overrides.filter(Boolean).join(', ')}` : ''}`
}

const plain = nic(0, { address: '10.10.0.11', cidr: '10.10.0.0/24' })
const routed = nic(1, { address: '10.20.0.11', cidr: '10.20.0.0/24', gateway: '10.20.0.1', addresses: ['fd20::11/64'] })
const sharing = nic(2, { address: '10.20.0.12', cidr: '10.20.0.0/24', gateway: '10.20.0.1' })
const withRoute = nic(3, {
  address: '10.30.0.11',
  cidr: '10.30.0.0/24',
  routes: [{ destination: '172.16.0.0/12', nexthop: '10.30.0.1' }],
})

const byMain = 'primary table 254 rule 32766 | rule <32766, route >=1'

interface Case {
  nics: CompleteWireInterface[]
  index: number
  to: string
  reserved?: string[]
  expected: string[]
}

const cases: Record<string, Case> = {
  'behind the gateway of the NIC': {
    ...{ nics: [plain, routed], index: 1, to: '198.51.100.7' },
    expected: [
      'from 10.20.0.11: multinic1 via 10.20.0.1 table 101 rule 10071 | rule <10071, route >=8, not by port',
      `withoutSource: ${byMain}`,
      'reply mark 0x10: multinic1 via 10.20.0.1 table 101 rule 10001 | rule <10001',
      `fromNode: ${byMain}`,
    ],
  },
  'in the network of the NIC': {
    ...{ nics: [plain, routed], index: 1, to: '10.20.0.9' },
    expected: [
      'from 10.20.0.11: multinic1 table 254 rule 10061 | rule <10061, route >=25, metric <20001, not by port',
      'withoutSource: multinic1 table 254 rule 32766 | rule <32766, route >=25, metric <20001',
      'reply mark 0x10: multinic1 table 101 rule 10001 | rule <10001',
      'fromNode: primary table 110 rule 10091 | rule <10091, route >=25, or multinic1 table 254',
    ],
  },
  'in its network of IPv6': {
    ...{ nics: [plain, routed], index: 1, to: 'fd20::9' },
    expected: [
      'from fd20::11: multinic1 table 254 rule 10061 | rule <10061, route >=65, metric <20001, not by port',
      'withoutSource: multinic1 table 254 rule 32766 | rule <32766, route >=65, metric <20001',
      'reply mark 0x10: multinic1 table 101 rule 10001 | rule <10001',
      'fromNode: primary table 110 rule 10091 | rule <10091, route >=65, or multinic1 table 254',
    ],
  },
  'in the network of another NIC: nftables brings packets back to the gateway of this one': {
    ...{ nics: [plain, routed], index: 1, to: '10.10.0.9' },
    expected: [
      'from 10.20.0.11 mark 0x10: multinic1 via 10.20.0.1 table 101 rule 10001 | rule <10061, route >=25, metric <20000, not by port',
      'withoutSource: multinic0 table 254 rule 32766 | rule <32766, route >=25, metric <20000',
      'reply mark 0x10: multinic1 via 10.20.0.1 table 101 rule 10001 | rule <10001',
      'fromNode: primary table 110 rule 10091 | rule <10091, route >=25, or multinic0 table 254',
    ],
  },
  'anywhere else without a gateway': {
    ...{ nics: [plain], index: 0, to: '198.51.100.7' },
    expected: [
      `from 10.10.0.11: ${byMain}`,
      `withoutSource: ${byMain}`,
      `reply mark 0x8: ${byMain}`,
      `fromNode: ${byMain}`,
    ],
  },
  'behind the router of a requested route': {
    ...{ nics: [withRoute], index: 3, to: '172.16.1.1' },
    expected: [
      'from 10.30.0.11: multinic3 via 10.30.0.1 table 254 rule 10063 | rule <10063, route >=13, metric <20103, not by port',
      'withoutSource: multinic3 via 10.30.0.1 table 254 rule 32766 | rule <32766, route >=13, metric <20103',
      'reply mark 0x20: multinic3 via 10.30.0.1 table 103 rule 10003 | rule <10003',
      'fromNode: primary table 110 rule 10091 | rule <10091, route >=25, or multinic3 table 254',
    ],
  },
  'in a subnet that two NICs share: each address by its own NIC, everything else by the first': {
    ...{ nics: [routed, sharing], index: 2, to: '10.20.0.9' },
    expected: [
      'from 10.20.0.12: multinic2 table 102 rule 10032 | rule <10032, route >=25, not by port',
      'withoutSource: multinic1 table 254 rule 32766 | rule <32766, route >=25, metric <20001',
      'reply mark 0x18: multinic2 table 102 rule 10002 | rule <10002',
      'fromNode: primary table 110 rule 10091 | rule <10091, route >=25, or multinic1 table 254',
    ],
  },
  'in a network that is reserved: only packets from the address of the NIC use it': {
    ...{ nics: [plain], index: 0, to: '10.10.0.9', reserved: ['10.10.0.0/24'] },
    expected: [
      'from 10.10.0.11: multinic0 table 100 rule 10030 | rule <10030, route >=25, not by port',
      `withoutSource: ${byMain}`,
      'reply mark 0x8: multinic0 table 100 rule 10000 | rule <10000',
      `fromNode: ${byMain}`,
    ],
  },
  'of the node itself': {
    ...{ nics: [plain, routed], index: 0, to: '10.20.0.11' },
    expected: [
      'from 10.10.0.11: local table 255 rule 0',
      'withoutSource: local table 255 rule 0',
      'reply mark 0x8: local table 255 rule 0',
      'fromNode: local table 255 rule 0',
    ],
  },
  'of a family that the NIC has no address of': {
    ...{ nics: [plain, routed], index: 0, to: '2001:db8::1' },
    expected: [`withoutSource: ${byMain}`, `fromNode: ${byMain}`],
  },
}
for (const [name, { nics, index, to, reserved = [], expected }] of Object.entries(cases))
  test(`packets go to an address ${name}`, () => {
    const known = nics.map(each => ({ nic: each, reserved }))
    assert.deepEqual(packetPaths(index, known, ip(to)).map(textOf), expected)
  })

test('addresses beyond the eighth rule of a NIC have its mark, where another port would send them', () => {
  const addresses = ['1', '2', '3', '4', '5'].map(last => `10.9.0.${last}/32`)
  const many = nic(1, { addresses, gateway: '10.20.0.1' })
  const [first, ...others] = packetPaths(1, [{ nic: many, reserved: [] }], ip('198.51.100.7')).map(textOf)
  assert.match(first ?? '', /^from 10\.9\.0\.1: multinic1 via 10\.20\.0\.1 table 101 rule 10051 /)
  assert.match(others[3] ?? '', /^from 10\.9\.0\.5 mark 0x10: multinic1 via 10\.20\.0\.1 table 101 rule 10001 /)
})

test('the questions for the node are those of the family of the address', () => {
  assert.deepEqual(questions(1, routed, ip('fd20::9')), [
    'ip route get fd20::9 from fd20::11',
    'ip route get fd20::9',
    'ip route get fd20::9 mark 0x10',
    'ip -6 rule',
    'nft list table ip6 multinic',
  ])
  assert.deepEqual(questions(0, plain, ip('fd20::9')), [
    'ip route get fd20::9',
    'ip -6 rule',
    'nft list table ip6 multinic',
  ])
})
