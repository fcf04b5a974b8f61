/**
 * Addresses that no NIC can have, and destinations that no route of a NIC can have.
 *
 * Free of dependencies: the agent uses it on the node.
 */
import {
  bitsOf,
  broadcastOf,
  type Cidr,
  canonical,
  contains,
  formatIp,
  networkOf,
  parseCidr,
  parseIp,
} from './address.ts'

import type { WireInterface } from './interface-fields.ts'

type Class = readonly [network: string, what: string]

const addressClasses: readonly Class[] = [
  ['0.0.0.0/8', 'means this host'],
  ['127.0.0.0/8', 'is a loopback address'],
  ['224.0.0.0/4', 'is a multicast address'],
  ['255.255.255.255/32', 'is the broadcast address'],
  ['240.0.0.0/4', 'is reserved'],
  ['169.254.169.254/32', 'is the address of the metadata service'],
  ['::/128', 'means no address'],
  ['::1/128', 'is the loopback address'],
  ['ff00::/8', 'is a multicast address'],
  ['::ffff:0:0/96', 'is an IPv4 address in the form of IPv6'],
  ['fd00:ec2::254/128', 'is the address of the metadata service'],
  ['fe80::a9fe:a9fe/128', 'is the address of the metadata service'],
]

const destinationClasses: readonly Class[] = [
  ['0.0.0.0/8', 'means this host'],
  ['127.0.0.0/8', 'is for loopback'],
  ['224.0.0.0/4', 'is for multicast'],
  ['ff00::/8', 'is for multicast'],
  ['fe80::/10', 'is on every link'],
]

/** Why no NIC can have this address with this prefix length; undefined for an ordinary one. */
export function whyNotUsable({ address, prefix }: Cidr): string | undefined {
  const what = find(addressClasses, { family: address.family, address, prefix: bitsOf(address.family) })
  if (what !== undefined) return `${formatIp(address)} ${what}`
  const cidr = { family: address.family, address, prefix }
  const network = networkOf(cidr)
  if (prefix > bitsOf(address.family) - 2) return undefined
  const text = formatIp(address)
  if (network.startsWith(`${text}/`))
    return address.family === 4
      ? `${text} is the network address of ${network}`
      : `${text} is the subnet-router anycast address of ${network}`
  return broadcastOf(`${text}/${prefix}`) === text ? `${text} is the broadcast address of ${network}` : undefined
}

/** What is wrong with the addresses of an interface, by field. Texts that are no addresses are somebody else's error. */
export function unusableAddresses(
  { address, cidr, addresses = [] }: Pick<WireInterface, 'address' | 'cidr' | 'addresses'>,
  fail: (field: string, message: string) => void,
): void {
  const prefix = parseCidr(cidr ?? '')?.prefix
  const first = prefix === undefined ? undefined : parseCidr(`${canonical(address ?? '')}/${prefix}`)
  const message = first && whyNotUsable(first)
  if (message) fail('address', message)
  for (const [index, text] of addresses.entries()) {
    const parsed = parseCidr(text)
    const message = parsed && whyNotUsable(parsed)
    if (message) fail(`addresses[${index}]`, message)
  }
}

/** Why no route of a NIC can have this destination. `0.0.0.0/0` is an ordinary one. */
export function whyNotRoutable(destination: Cidr): string | undefined {
  return find(destinationClasses, destination)
}

function find(classes: readonly Class[], cidr: Cidr): string | undefined {
  return classes.find(([text]) => {
    const network = parseCidr(text)
    return network && cidr.prefix >= network.prefix && contains(network, cidr.address)
  })?.[1]
}

/** Reports whether the text is a loopback address, as of a resolver on the node itself. */
export function isLoopback(text: string): boolean {
  const ip = parseIp(text)
  return [parseCidr('127.0.0.0/8'), parseCidr('::1/128')].some(network => network && ip && contains(network, ip))
}
