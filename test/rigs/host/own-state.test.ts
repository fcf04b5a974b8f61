import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Entry, foreignTables, ownState } from './own-state.ts'

const address = (ifname: string, ...cidrs: string[]): Entry => ({
  ifname,
  addr_info: cidrs.map(cidr => {
    const [local, prefixlen] = cidr.split('/')
    return { local, prefixlen: Number(prefixlen) }
  }),
})
const route = (dst: string, dev: string, table: string, protocol = '4'): Entry => ({ dst, dev, table, protocol })
const state = ownState(
  [address('ens3', '10.0.0.10/24'), address('multinic0', '10.100.0.10/24', 'fd00::10/64')],
  [
    route('default', 'ens3', '254'),
    route('10.100.0.0/24', 'multinic0', '254'),
    route('default', 'multinic0', '100'),
    route('10.100.0.0/24', 'multinic0', '100'),
  ],
  new Set(['multinic0']),
)

const all = { src: 'all', protocol: '4' }
const local = { iif: 'lo', protocol: '4', table: '100' }
const ours: Record<string, Entry> = {
  'a mark of ours': { ...all, fwmark: '0x8', fwmask: '0x78', table: '100' },
  'the mark for the way by the primary NIC': { ...all, fwmark: '0x58', fwmask: '0x78', table: '110', protocol: '2' },
  'the network of a NIC': { ...local, src: '10.100.0.0', srclen: 24 },
  'the network of a NIC, to the main table': {
    ...local,
    src: 'fd00::',
    srclen: 64,
    table: '254',
    suppress_prefixlen: 7,
  },
  'the address of a NIC': { ...local, src: '10.100.0.10' },
  'the address of a NIC, to its network': { ...local, src: '10.100.0.10', dst: '10.100.0.0', dstlen: 24, table: '254' },
  'the primary network': { ...local, src: '10.0.0.0', srclen: 24, table: '254', protocol: '2' },
  'the reverse path of a mark': { ...all, fwmark: '0x8', fwmask: '0x78', iif: 'multinic0', table: '254' },
  'the reverse path of the mark of a NIC that is gone': {
    ...{ ...all, fwmark: '0x8', fwmask: '0x78', iif: 'multinic7', iif_detached: null, table: '254' },
  },
  'a goto': { ...all, fwmark: '0', fwmask: '0x78', goto: 10_012, protocol: '2' },
  'the target of a goto': { ...all, nop: null, protocol: '2' },
  'an address, as the Go implementation wrote it': { protocol: '4', src: '10.100.0.10', table: '100' },
}
for (const [name, rule] of Object.entries(ours))
  test(`a rule is ours: ${name}`, () => assert.equal(state.isOurRule({ priority: 7, ...rule }), true))

/** All have priorities of ours. */
const foreign: Record<string, Entry> = {
  'a mark that leads to a table of others': { ...all, fwmark: '0x8', fwmask: '0x78', table: '200', priority: 10_000 },
  'a mark with another mask': { ...all, fwmark: '0x8', fwmask: '0xff', table: '100', priority: 10_000 },
  'a mark and an address': {
    ...all,
    fwmark: '0x8',
    fwmask: '0x78',
    table: '100',
    src: '10.100.0.10',
    priority: 10_000,
  },
  'the way by the primary NIC, with another protocol': {
    ...{ ...all, fwmark: '0x58', fwmask: '0x78', table: '110', priority: 10_010 },
  },
  'the reverse path of another device': { ...all, fwmark: '0x8', fwmask: '0x78', iif: 'eth0', table: '254' },
  'another network': { ...local, src: '10.9.0.0', srclen: 24, priority: 10_070 },
  'the network of a NIC, to a table of others': {
    ...local,
    src: '10.100.0.0',
    srclen: 24,
    table: '200',
    priority: 10_070,
  },
  'another incoming device': { ...local, src: '10.100.0.0', srclen: 24, iif: 'eth0', priority: 10_070 },
  'a selector that we do not use': { ...local, src: '10.100.0.0', srclen: 24, ipproto: 'udp', priority: 10_070 },
  'the primary network, with another protocol': {
    ...local,
    src: '10.0.0.0',
    srclen: 24,
    table: '254',
    priority: 10_090,
  },
  'a goto with another protocol': { ...all, goto: 10_095, priority: 10_012 },
}
for (const [name, rule] of Object.entries(foreign))
  test(`a rule is foreign: ${name}`, () => assert.equal(state.isOurRule(rule), false))

test('routes of our devices are ours, and those of the kernel’s protocol in table 110 on the primary device', () => {
  const routes = [
    route('10.100.0.0/24', 'multinic0', '254'),
    route('10.100.0.0/24', 'ens3', '110', '2'),
    route('10.100.0.0/24', 'ens3', '110'),
    route('10.100.0.0/24', 'ens3', '254', '2'),
    route('10.100.0.0/24', 'ens5', '110', '2'),
  ]
  assert.deepEqual(routes.map(state.isOurRoute), [true, true, false, false, false])
})

test('tables of others stay', () => {
  const other = 'table ip other {\n\tchain multinic {\n\t}\n}\n'
  const own = 'table ip multinic {\n\tset a {\n\t\ttype ifname\n\t}\n}\n'
  assert.equal(
    foreignTables(`${own}${other}${own.replace('ip ', 'ip6 ')}table inet multinic {\n}\n`),
    `${other}table inet multinic {\n}\n`,
  )
})
