/**
 * Duplicate address detection: does another host already use an address that a NIC is about to get? The kernel checks IPv6
 * addresses too (DAD), but by a single packet right after the link goes up, when a bridge or switch may drop it.
 *
 * A probe needs a link that is up and a source address. A NIC without an address would send ARP probes from the primary's
 * address, and neighbours in the same network would then send the node's traffic to this NIC. So the NIC temporarily gets
 * link-local addresses of its own, journaled like every change. See docs/decisions/0013-probes.md
 */
import { canonical, type Family } from '../../contract/address.ts'
import type { Failure, Failures } from '../apply/apply.ts'
import { type Change, familyOf } from '../state/change.ts'
import { linkByIndex, type Observed, permanentMacOf } from '../state/observed.ts'
import type { Unit } from '../state/unit.ts'
import { type NeighbourReplies, type ProbeTarget, targetKey } from './neighbour-probe.ts'

/** An address that a NIC is about to get. */
export interface NewAddress {
  group: string
  target: ProbeTarget
}

/** The addresses to ask for. */
export function newAddresses(units: readonly Unit[]): NewAddress[] {
  return units.flatMap(unit => targetsOf(unit).map(target => ({ group: unit.group, target })))
}

/** The changes that let a NIC probe. A unit that adds no address has none. */
export function probeUnits(units: readonly Unit[], observed: Observed): Unit[] {
  return units.flatMap(unit => {
    const link = linkByIndex(observed, unit.ifindex ?? 0)
    const families = new Set(targetsOf(unit).map(({ address }) => familyOf(`${address}/0`)))
    if (!link || families.size === 0) return []
    // Sysctls come first: they must be set before the link can receive a router advertisement.
    const first = unit.changes.filter(change => change.kind === 'sysctl' || change.kind === 'manager')
    const sources = [...families].map((family): Change => {
      const address = { cidr: probeSource(unit.macAddress, family), noPrefixRoute: true }
      return { kind: 'address', op: 'add', address }
    })
    const up: Change[] = link.up ? [] : [{ kind: 'link', from: 'down', to: 'up' }]
    return [{ ...unit, changes: [...first, ...sources, ...up] }]
  })
}

/** Removes the temporary addresses. The link stays up: a switch port that goes down would have to start again. */
export function endOfProbe(probing: readonly Unit[]): Unit[] {
  return probing.map(unit => ({
    ...unit,
    changes: unit.changes.flatMap((change): Change[] =>
      change.kind === 'address' ? [{ ...change, op: 'remove' }] : [],
    ),
  }))
}

/** Failures of NICs whose address another host uses. */
export function duplicatesIn(
  addresses: readonly NewAddress[],
  replies: NeighbourReplies,
  { links }: Observed,
): Failures {
  const own = new Set(links.flatMap(link => [link.macAddress, permanentMacOf(link)]))
  const duplicates = new Map<string, Failure>()
  for (const { group, target } of addresses) {
    const macAddress = replies.get(targetKey(target))
    if (macAddress === undefined || own.has(macAddress)) continue
    const message = `another host with MAC address ${macAddress} uses ${target.address}`
    duplicates.set(group, { reason: 'AddressConflict', message })
  }
  return duplicates
}

function targetsOf(unit: Unit): ProbeTarget[] {
  const { ifindex } = unit
  if (unit.purpose !== 'apply' || ifindex === undefined) return []
  return unit.changes.flatMap(change => {
    // The NIC already has an address whose options alone change.
    if (change.kind !== 'address' || change.op !== 'add' || change.inPlace) return []
    return [{ ifindex, address: change.address.cidr.split('/')[0] ?? '' }]
  })
}

/** A link-local address derived from the MAC address; never that of the metadata service (169.254.169.254). */
function probeSource(macAddress: string, family: Family): string {
  const pairs = macAddress.split(':')
  if (family === 6) {
    const [a, b, c, d, e, f] = pairs
    return canonical(`fe80::6d6e:${a}${b}:${c}${d}:${e}${f}/128`) ?? ''
  }
  const [high = 0, low = 0] = pairs.slice(-2).map(pair => Number.parseInt(pair, 16))
  return `169.254.${1 + (high % 160)}.${1 + (low % 254)}/32`
}
