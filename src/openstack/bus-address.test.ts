import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busAddresses, hostText } from './bus-address.ts'

/** `host:port (tls) vhost user/password` */
function words(...texts: string[]): string {
  const read = busAddresses(texts)
  if ('mistake' in read) return read.mistake
  const hosts = read.hosts.map(host => `${hostText(host)}${host.tls ? ' (tls)' : ''}`).join(' ')
  const account = read.user === undefined ? '' : ` ${read.user}/${read.password}`
  return `${hosts} ${read.vhost}${account}`
}

const unreadable = 'address 1 is none; write it like amqp://host:5672/vhost, amqps://… or host:port'
const cases: Record<string, [texts: string[], expected: string]> = {
  'a name alone': [['bus'], 'bus:5672 /'],
  'a name and a port': [['bus:5673'], 'bus:5673 /'],
  'the usual address': [['amqp://bus:5672/'], 'bus:5672 /'],
  'two slashes mean the virtual host /': [['amqp://bus//'], 'bus:5672 /'],
  'a virtual host': [['amqp://bus/nova%2Fcell'], 'bus:5672 nova/cell'],
  'TLS has a port of its own': [['amqps://bus'], 'bus:5671 (tls) /'],
  'as oslo.messaging writes it': [['rabbit://openstack:secret@bus:5672/'], 'bus:5672 / openstack/secret'],
  'a password with signs in it': [['amqp://o:p%40ss@bus'], 'bus:5672 / o/p@ss'],
  'several with commas': [['amqp://a:1/x,b:2, c'], 'a:1 b:2 c:5672 x'],
  'several in a list': [['a', 'b:1'], 'a:5672 b:1 /'],
  IPv6: [['amqp://[fd00::1]:5672/'], '[fd00::1]:5672 /'],
  'the port of the web is taken as it is': [['bus:80'], 'bus:80 /'],
  none: [['', ' , '], 'no address'],
  'another protocol': [['https://bus'], unreadable],
  'no host': [['amqp://'], unreadable],
  'a broken escape': [['amqp://o:%ZZ@bus'], unreadable],
  'two virtual hosts': [['a/x', 'b/y'], 'the addresses name 2 virtual hosts; one bus has one'],
}
for (const [name, [texts, expected]] of Object.entries(cases)) test(name, () => assert.equal(words(...texts), expected))

test('a mistake never repeats the text, which may hold a password', () => {
  assert.doesNotMatch(words('ftp://openstack:secret@bus'), /secret/)
})
