/**
 * Asks the kernel which way packets of each NIC take, and compares the answers with the request: from an address of the
 * NIC, without a source, and from an address of the node.
 *
 * Pure. The questions are lines of the batch that observes the node, so they cost no process. They are known before the
 * node is observed; a line that fails has no answer and does not end the batch. A NIC is asked for its gateway, for one
 * neighbour in each of its networks and for one address of each requested route. A network of one address has no
 * neighbour, and one of two addresses has the other one.
 */
import {
  bitsOf,
  type Cidr,
  canonical,
  contains,
  type Family,
  formatIp,
  hostPart,
  networkOf,
  parseCidr,
  parseIp,
} from '../contract/address.ts'
import { addressesOf, type Interface } from '../contract/interfaces.ts'
import type { RouteSpec } from './change.ts'
import { linkByIndex, type Observed, type ObservedRoute, tableMain } from './observed.ts'
import { unspecified6 } from './policy-routing.ts'

const tableLocal = 255

export interface ExpectedLookup {
  from?: string
  to: string
  /** Packets leave by the NIC, with this table; undefined: the rules and routes of the NIC do not move them. */
  table?: number
}

/** A NIC as its lookups need it. */
interface LookupNic {
  index: number
  table: number
  addresses: readonly { cidr: string }[]
  routes: readonly RouteSpec[]
  /** The routes that packets without a source may use. */
  unbound: readonly RouteSpec[]
}

/** Lines for `ip -batch`: what to ask for these NICs out of all interfaces. */
export function lookupCommands(
  nics: readonly Interface[],
  interfaces: readonly Interface[],
  nodeAddresses: readonly string[],
): string[] {
  const targets = lookupTargets(interfaces, nodeAddresses)
  return [
    ...new Set(
      nics.flatMap(nic => {
        const own = addressesOf(nic).map(hostPart)
        return (targets.get(nic.index) ?? []).flatMap(to =>
          [undefined, ...own, ...nodeAddresses]
            .filter(from => from === undefined || isSameFamily(from, to))
            .map(from => lookupCommand({ to, ...(from === undefined ? {} : { from }) })),
        )
      }),
    ),
  ]
}

export function lookupCommand({ from, to }: Pick<ExpectedLookup, 'from' | 'to'>): string {
  return `route get ${to}${from === undefined ? '' : ` from ${from}`}`
}

/** Remote addresses of each NIC, by index. */
export function lookupTargets(
  interfaces: readonly Interface[],
  nodeAddresses: readonly string[],
): Map<number, string[]> {
  const nics = interfaces.map(nic => ({ nic, addresses: addressesOf(nic) }))
  const local = new Set([...nics.flatMap(({ addresses }) => addresses.map(hostPart)), ...nodeAddresses])
  return new Map(
    nics.map(({ nic, addresses }) => {
      const networks = [...addresses, ...(nic.routes ?? []).map(route => route.destination)]
      const neighbours = networks.flatMap(text => neighbourIn(parseCidr(text), local) ?? [])
      const gateway = nic.gateway === undefined ? [] : [canonical(nic.gateway) ?? nic.gateway]
      const families = new Set(addresses.map(familyOf))
      const all = [...gateway, ...neighbours].filter(to => !local.has(to) && !isLinkLocal(to))
      return [nic.index, [...new Set(all)].filter(to => families.has(familyOf(to)))]
    }),
  )
}

export function expectedLookups(
  nic: LookupNic,
  nics: readonly LookupNic[],
  targets: readonly string[],
  nodeAddresses: readonly string[],
): ExpectedLookup[] {
  const own = nic.addresses.map(({ cidr }) => hostPart(cidr))
  return targets.flatMap(to => {
    const ofFamily = (list: readonly string[]) => list.filter(from => isSameFamily(from, to))
    return [
      ...ofFamily(own).map(from => ({ from, to, table: nic.table })),
      ...(winnerFor(to, nics) === nic ? [{ to, table: familyOf(to) === 4 ? nic.table : tableMain }] : []),
      ...ofFamily(nodeAddresses).map(from => ({ from, to })),
    ]
  })
}

/** The NIC that packets without a source use: longest prefix, then lowest index. */
function winnerFor(to: string, nics: readonly LookupNic[]): LookupNic | undefined {
  const ip = parseIp(to)
  const [best] = nics
    .flatMap(nic => nic.unbound.map(route => ({ nic, network: parseCidr(route.destination) })))
    .filter(({ network }) => ip && network && contains(network, ip))
    .sort((a, b) => (b.network?.prefix ?? 0) - (a.network?.prefix ?? 0) || a.nic.index - b.nic.index)
  return best?.nic
}

/** One line per packet that takes another way than expected. */
export function lookupDifferences(
  lookups: readonly ExpectedLookup[],
  ifindex: number,
  nic: { name: string; table: number },
  observed: Observed,
): string[] {
  return lookups.flatMap(({ from, to, table }) => {
    const found = observed.lookups?.[lookupCommand({ to, ...(from === undefined ? {} : { from }) })]
    const isOnSourceRoute = from === undefined && table === tableMain
    if (found === undefined || (isOnSourceRoute && observed.refusedAltnames.includes(unspecified6))) return []
    const packets = `packets ${from === undefined ? 'without a source' : `from ${from}`} to ${to}`
    const way = found ? `leave by ${wayOf(found, observed)}` : 'have no route'
    if (table === undefined) {
      const moved = found && (found.table === nic.table || (found.devices.includes(ifindex) && isUnbound(found)))
      return moved ? [`${packets} ${way}, expected by another NIC, table ${tableMain}`] : []
    }
    // An address of this node (also the anycast address of its router), or one behind a bridge or tunnel.
    if (found && (found.table === tableLocal || (found.table === tableMain && !isNic(found, observed)))) return []
    const right = found?.table === table || (found && from !== undefined && isConnected(to, found, nic.table, observed))
    return right && found?.devices.includes(ifindex) ? [] : [`${packets} ${way}, expected ${nic.name}, table ${table}`]
  })
}

/** A foreign address of the NIC has a connected route in the main table, which leads the same way as ours. */
function isConnected(to: string, found: ObservedRoute, table: number, { routes }: Observed): boolean {
  const ip = parseIp(to)
  const ours = routes.filter(route => route.table === table && route.gateway === undefined)
  const networks = ours.flatMap(({ destination }) => parseCidr(destination) ?? [])
  return (
    found.table === tableMain &&
    found.gateway === undefined &&
    networks.some(network => ip !== undefined && contains(network, ip))
  )
}

function isUnbound({ family, table }: ObservedRoute): boolean {
  return family === 6 && table === tableMain
}

function wayOf({ devices, table }: ObservedRoute, observed: Observed): string {
  return `${linkByIndex(observed, devices[0] ?? 0)?.name ?? 'no device'}, table ${table}`
}

/** A NIC of multinic, hardware, or a device with a default route. */
function isNic({ devices: [device = 0] }: ObservedRoute, { links, routes, sysctls }: Observed): boolean {
  return (
    sysctls[device] !== undefined ||
    links.some(link => link.ifindex === device && link.kind === undefined) ||
    routes.some(route => route.table === tableMain && route.destination === 'default' && route.devices.includes(device))
  )
}

/** The highest usable address that is not one of this node. */
function neighbourIn(network: Cidr | undefined, local: ReadonlySet<string>): string | undefined {
  if (!network || network.prefix === 0) return undefined
  const bits = bitsOf(network.family) - network.prefix
  const first = parseCidr(networkOf(network))?.address.value ?? 0n
  const size = 1n << BigInt(bits)
  // A network of more than two addresses has one for broadcasts.
  const last = first + size - (size > 2n ? 2n : 1n)
  const maxAttempts = 24n
  for (let value = last; value >= first && value > last - maxAttempts; value--) {
    const text = formatIp({ family: network.family, value })
    if (!local.has(text)) return text
  }
  return undefined
}

function isSameFamily(a: string, b: string): boolean {
  return familyOf(a) === familyOf(b)
}

function familyOf(address: string): Family {
  return address.includes(':') ? 6 : 4
}

function isLinkLocal(address: string): boolean {
  const ip = parseIp(address)
  return ip?.family === 6 && ip.value >> 118n === 0x3fan
}
