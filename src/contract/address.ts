/**
 * MAC addresses, IP addresses and networks: parsing, comparison and canonical form.
 *
 * Free of dependencies, because the agent uses it on the node.
 */
export type Family = 4 | 6

export interface Ip {
  readonly family: Family
  readonly value: bigint
}

export interface Cidr {
  readonly family: Family
  /** The address as written, host bits kept. */
  readonly address: Ip
  readonly prefix: number
}

/** Accepts six hex pairs with colons, in either case; returns lower case. */
export function parseMac(text: string): string | undefined {
  return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(text) ? text.toLowerCase() : undefined
}

/** The agent parses the same few texts hundreds of times in a run. */
export const parseIp = remembering((text: string): Ip | undefined =>
  text.includes(':') ? parseV6(text) : parseV4(text),
)

export const parseCidr = remembering((text: string): Cidr | undefined => {
  const slash = text.indexOf('/')
  const length = text.slice(slash + 1)
  // Without a slash this is the whole text, and three digits are no address.
  if (!/^\d{1,3}$/.test(length)) return undefined
  const address = parseIp(text.slice(0, slash))
  const prefix = Number(length)
  if (!address || prefix > bitsOf(address.family)) return undefined
  return { family: address.family, address, prefix }
})

/** A network, or an address as the network of this address alone. */
export function parseNetwork(text: string): Cidr | undefined {
  if (text.includes('/')) return parseCidr(text)
  const address = parseIp(text)
  return address && { family: address.family, address, prefix: bitsOf(address.family) }
}

export function formatIp({ family, value }: Ip): string {
  return family === 4 ? formatV4(value) : formatV6(value)
}

/** The network of a cidr, host bits cleared: `192.168.1.10/24` → `192.168.1.0/24`. */
export function networkOf(cidr: Cidr): string {
  return `${formatIp({ family: cidr.family, value: networkValue(cidr) })}/${cidr.prefix}`
}

/** The broadcast address of an IPv4 network of more than two addresses: `192.168.1.10/24` → `192.168.1.255`. */
export function broadcastOf(text: string): string | undefined {
  const cidr = parseCidr(text)
  if (cidr?.family !== 4 || cidr.prefix > 30) return undefined
  return formatIp({ family: 4, value: networkValue(cidr) | ((1n << hostBits(cidr)) - 1n) })
}

/** The address of a cidr with its prefix, in canonical form. */
export function formatCidr(cidr: Cidr): string {
  return `${formatIp(cidr.address)}/${cidr.prefix}`
}

export function contains(cidr: Cidr, ip: Ip): boolean {
  return cidr.family === ip.family && networkValue(cidr) === (ip.value >> hostBits(cidr)) << hostBits(cidr)
}

/** Reports whether two networks share an address. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return contains(a, b.address) || contains(b, a.address)
}

/** The canonical form of an address with or without prefix, for comparing texts; undefined when it is neither. */
export function canonical(text: string): string | undefined {
  if (text.includes('/')) {
    const cidr = parseCidr(text)
    return cidr && formatCidr(cidr)
  }
  const ip = parseIp(text)
  return ip && formatIp(ip)
}

/** `10.0.0.1/24` → `10.0.0.1` */
export function hostPart(cidr: string): string {
  return cidr.split('/', 1)[0] ?? cidr
}

export function bitsOf(family: Family): number {
  return family === 4 ? 32 : 128
}

function hostBits(cidr: Cidr): bigint {
  return BigInt(bitsOf(cidr.family) - cidr.prefix)
}

function networkValue(cidr: Cidr): bigint {
  return (cidr.address.value >> hostBits(cidr)) << hostBits(cidr)
}

const maxRemembered = 1_000

/** Forgets everything when it is full: a service that runs for weeks sees any number of texts. */
function remembering<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return text => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size === maxRemembered) known.clear()
    const parsed = parse(text)
    known.set(text, parsed)
    return parsed
  }
}

const fourNumbers = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/

function parseV4(text: string): Ip | undefined {
  const parts = fourNumbers.exec(text)
  if (!parts) return undefined
  let value = 0
  for (let index = 1; index <= 4; index++) {
    const byte = Number(parts[index])
    if (byte > 255) return undefined
    value = value * 256 + byte
  }
  return { family: 4, value: BigInt(value) }
}

function parseV6(text: string): Ip | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(groupsOf)
  if (!head || (halves.length === 2 && !tail)) return undefined
  const missing = 8 - head.length - (tail?.length ?? 0)
  if (tail ? missing < 1 : missing !== 0) return undefined
  const groups = [...head, ...Array<number>(missing).fill(0), ...(tail ?? [])]
  return { family: 6, value: groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n) }
}

/** The 16-bit groups of one side of `::`; an embedded IPv4 address may stand last. Undefined if malformed. */
function groupsOf(side: string): number[] | undefined {
  if (side === '') return []
  const groups: number[] = []
  const parts = side.split(':')
  for (const [index, part] of parts.entries()) {
    if (part.includes('.') && index === parts.length - 1) {
      const v4 = parseV4(part)
      if (!v4) return undefined
      groups.push(Number(v4.value >> 16n), Number(v4.value & 0xffffn))
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined
      groups.push(Number.parseInt(part, 16))
    }
  }
  return groups
}

function formatV4(value: bigint): string {
  const number = Number(value)
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`
}

/** RFC 5952: lower case, the first longest run of two or more zero groups folded. IPv4-mapped addresses print as the kernel prints them. */
function formatV6(value: bigint): string {
  if (value >> 32n === 0xffffn) return `::ffff:${formatV4(value & 0xffffffffn)}`
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 0xffffn))
  let [start, length] = [-1, 1]
  for (const i of groups.keys()) {
    let run = 0
    while (groups[i + run] === 0) run++
    if (run > length) [start, length] = [i, run]
  }
  const hex = (part: number[]) => part.map(group => group.toString(16)).join(':')
  if (start < 0) return hex(groups)
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`
}
