import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  broadcastOf,
  canonical,
  contains,
  formatIp,
  hostPart,
  networkOf,
  overlaps,
  parseCidr,
  parseIp,
  parseMac,
} from './address.ts'

test('a MAC is six hex pairs with colons, kept in lower case', () => {
  assert.equal(parseMac('FA:16:3E:00:00:0a'), 'fa:16:3e:00:00:0a')
  for (const bad of ['fa-16-3e-00-00-0a', 'fa:16:3e:00:00', 'fa:16:3e:00:00:0a:0b', 'fa:16:3e:00:00:0g', ''])
    assert.equal(parseMac(bad), undefined, bad)
})

const forms: Record<string, string | undefined> = {
  '10.0.0.1': '10.0.0.1',
  '010.0.0.1': undefined,
  '10.0.0': undefined,
  '10.0.0.1.2': undefined,
  '10.0.0.1x': undefined,
  '10.0.0.256': undefined,
  'FD00:0:0::00A': 'fd00::a',
  '::': '::',
  '1::': '1::',
  '::ffff:10.1.2.3': '::ffff:10.1.2.3',
  '2001:db8:0:1:0:0:0:1': '2001:db8:0:1::1',
  '2001:0:0:1:0:0:0:1': '2001:0:0:1::1',
  '1:0:0:2:0:0:3:4': '1::2:0:0:3:4',
  '1:0:2:3:4:5:6:7': '1:0:2:3:4:5:6:7',
  '1:2:3:4:5:6::7': '1:2:3:4:5:6:0:7',
  '1:2:3:4:5:6:0:0': '1:2:3:4:5:6::',
  '1:2:3:4:5:6:10.1.2.3': '1:2:3:4:5:6:a01:203',
  '::10.1.2.3:4': undefined,
  '::10.1.2.256': undefined,
  '1:2:3:4:5:6:7': undefined,
  '1:2:3:4:5:6:7:8': '1:2:3:4:5:6:7:8',
  '1:2:3:4:5:6:7:8:9': undefined,
  '1::2::3': undefined,
  '1:2:3:4:5:6:7::8': undefined,
  ':1::': undefined,
  'fe80::1%eth0': undefined,
}
for (const [text, expected] of Object.entries(forms)) {
  test(`${text} is ${expected ?? 'no address'}`, () => {
    const ip = parseIp(text)
    assert.equal(ip && formatIp(ip), expected)
  })
}

test('a text with eight groups or more beside :: is no address', () => {
  const eight = '1:2:3:4:5:6:7:8'
  for (const bad of [`${eight}::`, `::${eight}`, `${eight}::1`, `1::${eight}`, `${eight}::x`, `${eight}::${eight}`])
    assert.equal(parseIp(bad), undefined, bad)
})

test('what the platform calls an address, we do, and printing it loses nothing', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom(...'0123456789abcf:.'), maxLength: 20 })),
      text => {
        const ip = parseIp(text)
        assert.equal(ip?.family ?? 0, isIP(text))
        if (ip) assert.deepEqual(parseIp(formatIp(ip)), ip)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('a cidr with host bits names its network', () => {
  const cidr = parseCidr('192.168.100.10/24')
  assert.ok(cidr)
  assert.equal(networkOf(cidr), '192.168.100.0/24')
  assert.equal(contains(cidr, parseIp('192.168.100.255') ?? never()), true)
  assert.equal(contains(cidr, parseIp('192.168.101.0') ?? never()), false)
  assert.equal(contains(cidr, parseIp('::1') ?? never()), false)
  assert.equal(contains(parseCidr('0.0.0.0/0') ?? never(), parseIp('::1') ?? never()), false)
  for (const longest of ['10.0.0.1/32', 'fd00::1/128']) assert.equal(networkOf(parseCidr(longest) ?? never()), longest)
  for (const bad of [
    '10.0.0.0',
    '123',
    '/24',
    '::1',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/24/1',
    '10.0.0.0/',
    '10.0.0.0/2a',
  ])
    assert.equal(parseCidr(bad), undefined, bad)
})

test('an IPv4 network of more than two addresses has a broadcast address', () => {
  const cidrs = ['192.168.1.10/24', '10.100.0.10/22', '10.0.0.1/30', '10.0.0.1/31', '192.0.2.9/32', 'fd00::1/64', 'x']
  const expected = ['192.168.1.255', '10.100.3.255', '10.0.0.3', undefined, undefined, undefined, undefined]
  assert.deepEqual(cidrs.map(broadcastOf), expected)
})

test('networks overlap when one holds the other', () => {
  const net = (text: string) => parseCidr(text) ?? never()
  assert.equal(overlaps(net('10.0.0.0/8'), net('10.1.0.0/16')), true)
  assert.equal(overlaps(net('10.1.0.0/16'), net('10.0.0.0/8')), true)
  assert.equal(overlaps(net('10.1.0.0/16'), net('10.2.0.0/16')), false)
  assert.equal(overlaps(net('10.1.2.3/16'), net('10.1.9.9/16')), true)
  assert.equal(overlaps(net('10.1.2.3/24'), net('10.1.9.9/8')), true)
  assert.equal(overlaps(net('0.0.0.0/0'), net('fd00::/8')), false)
  assert.equal(overlaps(net('0.0.0.0/0'), net('::/0')), false)
})

test('texts of one address compare equal in canonical form', () => {
  assert.equal(canonical('FD00::0:1/64'), 'fd00::1/64')
  assert.equal(canonical('10.0.0.1'), '10.0.0.1')
  assert.equal(canonical('nonsense'), undefined)
  assert.equal(canonical('nonsense/24'), undefined)
})

test('the host part of an address is the address without its prefix', () => {
  assert.deepEqual(['10.0.0.1/24', 'fd00::1/64', '10.0.0.1'].map(hostPart), ['10.0.0.1', 'fd00::1', '10.0.0.1'])
})

function never(): never {
  throw new Error('the test has a bad address')
}
