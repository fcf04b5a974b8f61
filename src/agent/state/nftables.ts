/**
 * The nftables table `multinic` of one family, in the form in which nft lists it. It marks the packets that no rule can select
 * by their source: replies of connections that came in by a NIC, when a Pod or another address of the node answers them.
 *
 * The NIC by which a connection came in is a connection label, which nobody else uses: 100 + slot, or 98 when it came by another
 * device although its client is in the network of a NIC. A packet has its mark only between this table and the
 * routing decision. The slot of a NIC stays when its index changes, so labels of open connections stay right.
 *
 * Pure.
 */
import { bitsOf, type Family, parseCidr } from '../../contract/address.ts'
import { disjoint, type PacketSource } from '../../contract/packet-sources.ts'
import { otherWayMark, slotMark } from '../../contract/routing-scheme.ts'

export interface MarkedNic {
  name: string
  slot: number
  /** Addresses and networks of both families. */
  sources: readonly Pick<PacketSource, 'family' | 'cidr'>[]
  /** Networks that the main table reaches by the NIC. */
  networks: readonly { family: Family; cidr: string }[]
}

export interface MarkedNode {
  mask: number
  /** Names of devices that lead to a wire, besides the NICs. */
  wires: readonly string[]
  /** Whether the node has routes by the primary NIC for replies to networks of NICs. */
  otherWay: boolean
}

const otherDevice = 98
const firstSlot = 100

export function nftTable(family: Family, nics: readonly MarkedNic[], node: MarkedNode): string {
  const ip = family === 4 ? 'ip' : 'ip6'
  const type = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const ofFamily = <T extends { family: Family }>(list: readonly T[]) => list.filter(item => item.family === family)
  const sources = disjoint(
    nics.flatMap(nic => ofFamily(nic.sources).map(({ cidr }) => ({ cidr, to: `from${nic.slot}` }))),
  )
  const services = disjoint(
    nics.flatMap(nic => ofFamily(nic.networks).map(({ cidr }) => ({ cidr, to: `mark${nic.slot}` }))),
  )
  const addresses = (entries: readonly { cidr: string; to: string }[]) =>
    entries.map(({ cidr, to }) => `${element(cidr, family)} : goto ${to}`)
  const back = `ct label ${otherDevice} ${setMark(otherWayMark(node.mask), node.mask)}`
  const lines = block(`table ${ip} multinic`, [
    ...set(
      'map enter',
      'ifname : verdict',
      nics.map(({ name, slot }) => `"${name}" : goto enter${slot}`),
    ),
    ...set('map sources', `${type} : verdict`, addresses(sources), 'interval'),
    ...set('map services', `${type} : verdict`, addresses(services), 'interval'),
    ...set(
      'set wires',
      'ifname',
      [...node.wires, ...nics.map(({ name }) => name)].map(name => `"${name}"`),
    ),
    ...nics.flatMap(({ slot }) => block(`chain enter${slot}`, [`ct label set ${firstSlot + slot}`])),
    ...nics.flatMap(({ slot }) =>
      block(`chain mark${slot}`, [`${setMark(slotMark(slot, node.mask), node.mask)} accept`]),
    ),
    ...nics.flatMap(({ name, slot }) =>
      block(`chain from${slot}`, [`oifname != "${name}" oifname @wires goto mark${slot}`]),
    ),
    ...block('chain forwarded', [
      'iifname "multinic*" accept',
      ...nics.map(({ slot }) => `ct label ${firstSlot + slot} goto mark${slot}`),
      ...(node.otherWay ? [back] : []),
    ]),
    ...block('chain local', [
      ...nics.map(({ name, slot }) => `oifname != "${name}" ct label ${firstSlot + slot} goto mark${slot}`),
      `${ip} saddr vmap @sources`,
      ...(node.otherWay ? [back] : []),
    ]),
    ...block('chain prerouting', [
      'type filter hook prerouting priority dstnat + 10; policy accept;',
      'ct direction reply goto forwarded',
      'ct state != new accept',
      'iifname vmap @enter',
      ...(node.otherWay ? [`iifname @wires fib saddr oifname "multinic*" ct label set ${otherDevice}`] : []),
    ]),
    ...block('chain output', [
      'type route hook output priority -90; policy accept;',
      'ct direction reply goto local',
      `ct status dnat ${ip} daddr vmap @services`,
      `${ip} saddr vmap @sources`,
    ]),
  ])
  return canonicalTable(lines.join('\n'))
}

/** The command that puts a table in place of the one that is there, or removes it: one transaction of the kernel. */
export function nftScript(family: Family, table: string | undefined): string {
  const name = `${family === 4 ? 'ip' : 'ip6'} multinic`
  return `table ${name}\ndelete table ${name}\n${table ?? ''}`
}

/** Equal for equal tables: nft indents and wraps its lists, and lists elements in an order of its own. */
export function canonicalTable(listing: string): string {
  const joined = listing.replace(/elements = \{([^}]*)\}/g, (_, elements: string) => {
    const sorted = elements.split(',').map(text => text.trim())
    return `elements = { ${sorted.sort().join(', ')} }`
  })
  let depth = 0
  const lines = joined.split('\n').map(line => line.trim())
  return lines
    .filter(line => line !== '')
    .map(line => {
      if (line === '}') depth--
      const indented = `${'\t'.repeat(depth)}${line}\n`
      if (line.endsWith('{')) depth++
      return indented
    })
    .join('')
}

/** The first error in what nft printed, without the place in its input. */
export function nftErrorIn(stderr: string): string {
  const line = stderr.split('\n').find(text => text.trim() !== '') ?? 'no error message'
  return line.replace(/^.*?Error: /, '').trim()
}

/** The kernel keeps the bits of a mask that a mark sets anyway. */
function setMark(mark: number, mask: number): string {
  return `meta mark set meta mark & ${hex8((~mask | mark) >>> 0)} | ${hex8(mark)}`
}

function hex8(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`
}

function element(cidr: string, family: Family): string {
  const suffix = `/${bitsOf(family)}`
  return parseCidr(cidr) && cidr.endsWith(suffix) ? cidr.slice(0, -suffix.length) : cidr
}

function set(name: string, type: string, elements: readonly string[], flags?: string): string[] {
  return block(name, [
    `type ${type}`,
    ...(flags === undefined ? [] : [`flags ${flags}`]),
    ...(elements.length > 0 ? [`elements = { ${[...new Set(elements)].join(', ')} }`] : []),
  ])
}

function block(head: string, lines: readonly string[]): string[] {
  return [`${head} {`, ...lines, '}']
}
