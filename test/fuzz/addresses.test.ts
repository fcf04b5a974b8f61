/** The arithmetic with IP addresses gives what ipaddr.js gives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { bitsOf, contains, formatIp, networkOf, overlaps, parseCidr, parseIp } from '../../src/contract/address.ts'
import { fuzz } from './fuzz.ts'

/** Forms that the library reads otherwise: zones, octal numbers, and `::1.2.3.4`, which it takes for `::ffff:1.2.3.4`. */
const isOurForm = (text: string) => !/%|(^|[.:])0\d|^::[\d.]+$/.test(text)

const address = fc.oneof(fc.ipV4(), fc.ipV6()).filter(isOurForm)
const cidr = address.chain(text =>
  fc.nat(text.includes(':') ? 128 : 32).map(prefix => ({ text, prefix, cidr: `${text}/${prefix}` })),
)
const nearText = fc.oneof(address, fc.string({ unit: fc.constantFrom(...'0123456789abcdefF:.'), maxLength: 24 }))

test('a text is an address here if it is one there, with the same bytes', async () => {
  await fuzz(
    nearText.filter(isOurForm),
    text => {
      const ours = parseIp(text)
      const isTheirs = text.includes(':') ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text)
      assert.equal(ours !== undefined, isTheirs, text)
      if (!ours) return 'none'
      const bytes = ipaddr.parse(text).toByteArray()
      assert.equal(
        ours.value,
        bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n),
      )
      assert.deepEqual(parseIp(ipaddr.parse(text).toString()), ours)
      return 'address'
    },
    { atLeast: { none: 500, address: 500 } },
  )
})

test('a network, and what it contains, are the same', async () => {
  await fuzz(
    fc.tuple(cidr, cidr, fc.boolean()),
    ([one, other, isNear]) => {
      const a = parseCidr(one.cidr) ?? assert.fail(one.cidr)
      const family = ipaddr.parse(one.text).kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
      const network = family.networkAddressFromCIDR(one.cidr)
      assert.equal(networkOf(a), `${formatIp(parseIp(network.toString()) ?? assert.fail())}/${one.prefix}`)
      // An address of the same network, or any.
      const low = (1n << BigInt(bitsOf(a.family) - one.prefix)) - 1n
      const text = isNear ? formatIp({ family: a.family, value: a.address.value ^ (low / 3n) }) : other.text
      const ip = parseIp(text) ?? assert.fail(text)
      const theirs = ipaddr.parse(text)
      const isInside = theirs.kind() === ipaddr.parse(one.text).kind() && theirs.match(ipaddr.parseCIDR(one.cidr))
      assert.equal(contains(a, ip), isInside, `${one.cidr} contains ${text}`)
      if (isInside) assert.ok(overlaps(a, parseCidr(`${text}/${bitsOf(a.family)}`) ?? assert.fail(text)))
      return isInside ? 'inside' : 'outside'
    },
    { atLeast: { inside: 500, outside: 200 } },
  )
})
