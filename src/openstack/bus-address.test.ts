import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostText, parseBusAddresses } from './bus-address.ts'

/** `host:port (tls) vhost user/password` */
function addressText(...texts: string[]): string {
  const read = parseBusAddresses(texts)
  if ('error' in read) return read.error
  const hosts = read.hosts.map(host => `${hostText(host)}${host.tls ? ' (tls)' : ''}`).join(' ')
  const account = read.user === undefined ? '' : ` ${read.user}/${read.password}`
  return `${hosts} ${read.vhost}${account}`
}

const invalid = 'address 1 is invalid; write amqp://host:5672/vhost, amqps://… or host:port'
const cases: Record<string, [texts: string[], expected: string]> = {
  'a host name': [['bus'], 'bus:5672 /'],
  'a host name and a port': [['bus:5673'], 'bus:5673 /'],
  'the usual address': [['amqp://bus:5672/'], 'bus:5672 /'],
  'two slashes mean the virtual host /': [['amqp://bus//'], 'bus:5672 /'],
  'a virtual host': [['amqp://bus/nova%2Fcell'], 'bus:5672 nova/cell'],
  'TLS has its own default port': [['amqps://bus'], 'bus:5671 (tls) /'],
  'as oslo.messaging writes it': [['rabbit://openstack:secret@bus:5672/'], 'bus:5672 / openstack/secret'],
  'a password with special characters': [['amqp://o:p%40ss@bus'], 'bus:5672 / o/p@ss'],
  'several with commas': [['amqp://a:1/x,b:2, c'], 'a:1 b:2 c:5672 x'],
  'several in a list': [['a', 'b:1'], 'a:5672 b:1 /'],
  IPv6: [['amqp://[fd00::1]:5672/'], '[fd00::1]:5672 /'],
  'port 80 is not dropped': [['bus:80'], 'bus:80 /'],
  none: [['', ' , '], 'no address'],
  'another protocol': [['https://bus'], invalid],
  'no host': [['amqp://'], invalid],
  'a broken escape': [['amqp://o:%ZZ@bus'], invalid],
  'two virtual hosts': [['a/x', 'b/y'], 'the addresses name 2 virtual hosts; all must name the same'],
}
for (const [name, [texts, expected]] of Object.entries(cases))
  test(name, () => assert.equal(addressText(...texts), expected))

test('an error never contains the text of an address, which may contain a password', () => {
  assert.doesNotMatch(addressText('ftp://openstack:secret@bus'), /secret/)
})
