/** Addresses that no NIC can have, and destinations that no route of a NIC can have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCidr } from './address.ts'
import { completeInterfaces } from './interfaces.ts'
import { isLoopback, whyNotRoutable, whyNotUsable } from './special-addresses.ts'

const addresses: Record<string, string | undefined> = {
  '0.0.0.0/8': '0.0.0.0 means this host',
  '0.1.2.3/24': '0.1.2.3 means this host',
  '1.0.0.1/8': undefined,
  '126.255.255.254/8': undefined,
  '127.0.0.53/8': '127.0.0.53 is a loopback address',
  '128.0.0.1/8': undefined,
  '169.254.169.254/32': '169.254.169.254 is the address of the metadata service',
  '169.254.169.253/16': undefined,
  '169.254.1.1/16': undefined,
  '223.255.255.254/24': undefined,
  '224.0.0.1/4': '224.0.0.1 is a multicast address',
  '239.255.255.255/32': '239.255.255.255 is a multicast address',
  '240.0.0.1/24': '240.0.0.1 is reserved',
  '255.255.255.255/32': '255.255.255.255 is the broadcast address',
  '192.168.1.0/24': '192.168.1.0 is the network address of 192.168.1.0/24',
  '192.168.1.255/24': '192.168.1.255 is the broadcast address of 192.168.1.0/24',
  '192.168.1.254/24': undefined,
  '192.168.1.4/30': '192.168.1.4 is the network address of 192.168.1.4/30',
  '192.168.1.7/30': '192.168.1.7 is the broadcast address of 192.168.1.4/30',
  '192.168.1.4/31': undefined,
  '192.168.1.0/32': undefined,
  '::/128': ':: means no address',
  '::1/128': '::1 is the loopback address',
  '::2/128': undefined,
  'ff02::1/64': 'ff02::1 is a multicast address',
  '::ffff:10.0.0.1/96': '::ffff:10.0.0.1 is an IPv4 address in the form of IPv6',
  'fd00:ec2::254/64': 'fd00:ec2::254 is the address of the metadata service',
  'fe80::a9fe:a9fe/64': 'fe80::a9fe:a9fe is the address of the metadata service',
  'fe80::1/64': undefined,
  'fd00::/64': 'fd00:: is the subnet-router anycast address of fd00::/64',
  'fd00::4/126': 'fd00::4 is the subnet-router anycast address of fd00::4/126',
  'fd00::4/127': undefined,
  'fd00::/128': undefined,
  'fd00::ffff:ffff:ffff:ffff/64': undefined,
}

for (const [text, expected] of Object.entries(addresses))
  test(`${text} ${expected === undefined ? 'is usable' : 'is not usable'}`, () => {
    const cidr = parseCidr(text)
    assert.ok(cidr)
    assert.equal(whyNotUsable(cidr), expected)
  })

const destinations: Record<string, string | undefined> = {
  '0.0.0.0/0': undefined,
  '0.0.0.0/1': undefined,
  '128.0.0.0/1': undefined,
  '0.0.0.0/8': 'means this host',
  '0.0.0.0/24': 'means this host',
  '10.0.0.0/8': undefined,
  '127.0.0.0/8': 'is for loopback',
  '224.0.0.0/4': 'is for multicast',
  '239.1.0.0/16': 'is for multicast',
  '169.254.169.254/32': undefined,
  '::/0': undefined,
  'fd00::/8': undefined,
  'fe80::/10': 'is on every link',
  'fe80::/64': 'is on every link',
  'ff02::/16': 'is for multicast',
}

for (const [text, expected] of Object.entries(destinations))
  test(`a route to ${text} is ${expected === undefined ? '' : 'not '}possible`, () => {
    const cidr = parseCidr(text)
    assert.ok(cidr)
    assert.equal(whyNotRoutable(cidr), expected)
  })

test('a list from the wire names each field with such an address', () => {
  const { errors } = completeInterfaces([
    {
      macAddress: 'fa:16:3e:00:00:01',
      address: '192.168.1.255',
      cidr: '192.168.1.0/24',
      addresses: ['fd00::1/64', '::1/128'],
    },
    { macAddress: 'fa:16:3e:00:00:02', address: '192.168.2.10', cidr: '192.168.2.0/24' },
    { macAddress: 'fa:16:3e:00:00:03', address: 'x', cidr: '192.168.2.0/24' },
  ])
  assert.deepEqual(
    errors.map(({ path, message }) => `${path}: ${message}`),
    [
      'interfaces[0].address: 192.168.1.255 is the broadcast address of 192.168.1.0/24',
      'interfaces[0].addresses[1]: ::1 is the loopback address',
      'interfaces[2].address: "x" is not an IP address',
    ],
  )
})

test('resolvers on the node itself have loopback addresses', () => {
  assert.deepEqual(['127.0.0.53', '::1', '10.0.0.2', 'x'].map(isLoopback), [true, true, false, false])
})
