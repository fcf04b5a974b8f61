/**
 * Looks for another machine that already has an IPv4 address that a NIC is to get; the kernel does the same for IPv6 by
 * itself (DAD).
 *
 * The question needs a link that is up, and a sender: a NIC without an address would ask in the name of the primary, and
 * neighbours in one network with it would then send the node's traffic here. So the NIC gets one of its own for that time,
 * in the journal like every change. Why it is made so: docs/decisions/0013-probes.md
 */
import { type Applied, applyUnits, type Failures } from './apply.ts'
import { type Change, familyOf } from './change.ts'
import type { Host } from './host.ts'
import { askWire, forget, type Target, targetKey } from './neighbour-probe.ts'
import type { NetworkManager } from './network-manager.ts'
import { linkByIndex, type Observed, ownMac } from './observed.ts'
import type { Paths } from './paths.ts'
import type { Unit } from './unit.ts'

interface Ground {
  host: Host
  manager?: NetworkManager | undefined
  paths: Paths
  observed: Observed
}

/** What is done to a NIC so that it can ask; a unit without an IPv4 address to add asks nothing. */
export function askingUnits(units: readonly Unit[], observed: Observed): Unit[] {
  return units.flatMap(unit => {
    const link = linkByIndex(observed, unit.ifindex ?? 0)
    if (!link || targetsOf(unit, observed).length === 0) return []
    // Settings first: a router advertisement must find them set.
    const before = unit.changes.filter(change => change.kind === 'sysctl' || change.kind === 'manager')
    const sender: Change = { kind: 'address', op: 'add', address: { cidr: senderOf(unit.mac), noPrefixRoute: true } }
    const up: Change[] = link.up ? [] : [{ kind: 'link', from: 'down', to: 'up' }]
    return [{ ...unit, changes: [...before, sender, ...up] }]
  })
}

/** Failures of NICs whose address somebody else has. The NICs are left as they were, but for their settings. */
export async function findDuplicates(
  asking: readonly Unit[],
  units: readonly Unit[],
  ground: Ground,
  within: number,
): Promise<Failures> {
  const { host, observed } = ground
  const { failures }: Applied = await applyUnits(asking, ground)
  const own = new Set(observed.links.flatMap(link => [link.mac, ownMac(link)]))
  const questions = units
    .filter(unit => asking.some(({ name }) => name === unit.name) && !failures.has(unit.group))
    .flatMap(unit => targetsOf(unit, observed).map(target => ({ unit, target })))
  const targets = questions.map(({ target }) => target)
  const answers = await askWire(host, targets, observed.links, within)
  await forget(host, targets)
  await applyUnits(asking.map(backwards), ground)
  const found: Failures = new Map()
  for (const { unit, target } of questions) {
    const mac = answers.get(targetKey(target))
    if (mac === undefined || own.has(mac)) continue
    found.set(unit.group, { reason: 'AddressConflict', message: `${mac} on the wire has ${target.address}` })
  }
  return found
}

function targetsOf(unit: Unit, observed: Observed): Target[] {
  const { ifindex } = unit
  if (unit.purpose !== 'apply' || ifindex === undefined) return []
  return unit.changes.flatMap(change => {
    if (change.kind !== 'address' || change.op !== 'add' || familyOf(change.address.cidr) !== 4) return []
    // It is there already, and only its flags change.
    const there = observed.addresses.some(entry => entry.ifindex === ifindex && entry.cidr === change.address.cidr)
    return there ? [] : [{ ifindex, address: change.address.cidr.split('/')[0] ?? '' }]
  })
}

function backwards(unit: Unit): Unit {
  const changes = unit.changes.flatMap((change): Change[] => {
    if (change.kind === 'address') return [{ ...change, op: 'remove' }]
    return change.kind === 'link' ? [{ ...change, from: 'up', to: 'down' }] : []
  })
  return { ...unit, changes }
}

/** A link-local address of this NIC alone, from its MAC; never the one of the metadata service. */
function senderOf(mac: string): string {
  const [high = 0, low = 0] = mac
    .split(':')
    .slice(-2)
    .map(pair => Number.parseInt(pair, 16))
  return `169.254.${1 + (high % 160)}.${1 + (low % 254)}/32`
}
