/**
 * Which rules, routes and nftables tables of a rig node are those of multinic, told by what they select: a foreign rule may
 * have any priority. Entries are those of `ip -N -j -d`.
 *
 * Pure.
 */
import { networkOf, parseCidr } from '../../../src/contract/address.ts'

export type Entry = Record<string, unknown>

export interface OwnState {
  isOurRule(rule: Entry): boolean
  isOurRoute(route: Entry): boolean
}

const [tableMain, tablePrimary] = ['254', '110']
/** Of the kernel. What all NICs share has it. */
const protocolKernel = '2'
const markMask = '0x78'

/** `ours` are the names of our devices; routes are those of all tables. */
export function ownState(links: readonly Entry[], routes: readonly Entry[], ours: ReadonlySet<unknown>): OwnState {
  const uplinks = new Set(
    routes
      .filter(({ dst, table, dev }) => dst === 'default' && table === tableMain && !ours.has(dev))
      .map(({ dev }) => dev),
  )
  const onDevices = (devices: ReadonlySet<unknown>) =>
    links
      .filter(({ ifname }) => devices.has(ifname))
      .flatMap(link => (link['addr_info'] as Entry[]).map(({ local, prefixlen }) => ({ local, prefixlen })))
  const networksOn = (devices: ReadonlySet<unknown>) =>
    new Set(onDevices(devices).flatMap(({ local, prefixlen }) => networkText(`${local}/${prefixlen}`)))
  const addresses = new Set(onDevices(ours).map(({ local }) => local))
  const [networks, primary] = [networksOn(ours), networksOn(uplinks)]
  const ownRoutes = routes.filter(({ dev, table }) => ours.has(dev) && table !== '255')
  const tables = new Set(ownRoutes.map(({ table }) => table).filter(table => table !== tableMain))

  const isMarkRule = ({ fwmask, protocol, table }: Entry) =>
    fwmask === markMask && (tables.has(table) || (protocol === protocolKernel && table === tablePrimary))
  const isReversePathRule = ({ iif, fwmask, table }: Entry) =>
    fwmask === markMask && table === tableMain && /^multinic\d$/.test(`${iif}`)
  const isLocalRule = (source: string, destination: string | undefined, { protocol, table }: Entry) => {
    const isOfNic = (addresses.has(source) || networks.has(source)) && (table === tableMain || tables.has(table))
    if (destination !== undefined) return isOfNic && networks.has(destination)
    const isShared =
      primary.has(source) && protocol === protocolKernel && [tableMain, tablePrimary].includes(`${table}`)
    return isOfNic || isShared
  }
  return {
    isOurRule(rule) {
      // No other program gives this protocol to a rule without a lookup.
      if ('goto' in rule || 'nop' in rule) return rule['protocol'] === protocolKernel
      const { priority: _, protocol: __, table, suppress_prefixlen, ...selectors } = rule
      const { src, srclen, dst, dstlen, iif, iif_detached: ___, fwmark, fwmask: ____, ...more } = selectors
      const source = prefixText(src, srclen)
      const destination = dst === undefined ? undefined : prefixText(dst, dstlen)
      if (Object.keys(more).length > 0) return false
      const isWithoutMore = source === 'all' && [dst, suppress_prefixlen].every(value => value === undefined)
      if (fwmark !== undefined) return isWithoutMore && (iif === undefined ? isMarkRule(rule) : isReversePathRule(rule))
      if (iif !== undefined) return iif === 'lo' && isLocalRule(source, destination, rule)
      // Those of the Go implementation.
      return addresses.has(source)
    },
    isOurRoute: ({ dev, table, protocol }) =>
      ours.has(dev) || (uplinks.has(dev) && table === tablePrimary && protocol === protocolKernel),
  }
}

/** What `nft list ruleset` prints, without our tables. */
export function foreignTables(ruleset: string): string {
  const tables = ruleset.split(/^(?=table )/m)
  return tables.filter(table => !/^table ip6? multinic \{/.test(table)).join('')
}

function prefixText(address: unknown, length: unknown): string {
  return length === undefined ? `${address}` : `${address}/${length}`
}

function networkText(cidr: string): string[] {
  const parsed = parseCidr(cidr)
  return parsed ? [networkOf(parsed)] : []
}
