/**
 * Plans removals: NICs that are no longer requested, and what is left of NICs that are detached.
 *
 * Pure. A removed NIC loses our rules, routes, addresses, sysctls and files, and gets its former name and state back.
 */

import { type Interface, interfaceName } from '../../contract/interfaces.ts'
import { bootRules, filesOfIndex } from '../backends/owned.ts'
import type { Paths } from '../paths.ts'
import type { Change } from '../state/change.ts'
import type { Unread } from '../state/change-keys.ts'
import {
  changesBetween,
  fileChanges,
  kernelLinkLocal,
  type NicScope,
  type NicState,
  nicState,
  nodeState,
} from '../state/nic-state.ts'
import { type Link, linksByMac, type Observed, type ObservedRoute } from '../state/observed.ts'
import { namesRule } from '../state/owned-rules.ts'
import { allIndexes, isForeign, macAddressIn, type OwnedNic, recordPath, unusableRecords } from '../state/ownership.ts'
import type { Unit } from '../state/unit.ts'
import { altnameOf } from './desired.ts'
import {
  ambiguousName,
  foreignFileAt,
  foreignRecord,
  type GuardInput,
  hasUpperDevices,
  nodeDependsOn,
  type Refusal,
} from './preflight.ts'
import { ambiguousNic } from './request-guards.ts'
import { stateUnreadable, stopsAll, unreadOf } from './unread.ts'

export interface RemovalInput {
  interfaces: readonly Interface[]
  paths: Paths
  observed: Observed
  unread?: readonly Unread[]
  owned: readonly OwnedNic[]
  guardInput: GuardInput
}

export interface Removals {
  /** Also units without changes. */
  units: Unit[]
  unremovable: { name: string; refusal: Refusal }[]
}

export function planRemovals(input: RemovalInput): Removals {
  const { interfaces, observed, owned, guardInput } = input
  const requested = new Set(interfaces.map(nic => nic.macAddress))
  const orphaned = owned.filter(nic => !requested.has(nic.macAddress))
  const units: Unit[] = []
  const unremovable: Removals['unremovable'] = []
  for (const nic of orphaned) {
    const name = interfaceName(nic.index)
    const links = linksByMac(observed.links, nic.macAddress)
    const [link] = links
    const unit =
      link && isConfigured(nic, link, input)
        ? removeNic(nic, link, input)
        : removeTraces(nic.index, nic.macAddress, input)
    const refusal =
      unreadOf(nic, input) ??
      ambiguousNic(nic, links) ??
      (link && (nodeDependsOn(link, guardInput, nic) ?? ambiguousName(link, guardInput))) ??
      (link && unit.changes.some(isDisturbing) ? hasUpperDevices(link, observed) : undefined) ??
      foreignRecord(nic, guardInput) ??
      foreignFileOf(nic.index, input)
    if (refusal) unremovable.push({ name, refusal })
    else units.push(unit)
  }
  for (const { macAddress, path, file, problem } of unusableRecords(observed, input.paths)) {
    if (requested.has(macAddress ?? '') || owned.some(nic => nic.macAddress === macAddress)) continue
    // The agent writes no record without a MAC address in its name.
    if (macAddress === undefined && !isForeign(file)) continue
    const refusal = isForeign(file) ? foreignFileAt(path, file) : stateUnreadable(`${path} ${problem}`)
    unremovable.push({ name: macAddress ?? path, refusal })
  }
  for (const { macAddress, message } of input.unread ?? [])
    if (macAddress !== undefined && !requested.has(macAddress) && !owned.some(nic => nic.macAddress === macAddress))
      unremovable.push({ name: macAddress, refusal: stateUnreadable(message) })
  const stopped = stopsAll(input)
  if (stopped) {
    // Without a NIC that names it, the run would report that nothing is left.
    if (interfaces.length === 0 && unremovable.length === 0) unremovable.push({ name: 'node', refusal: stopped })
    return { units, unremovable }
  }
  for (const index of allIndexes)
    if (!interfaces.some(nic => nic.index === index) && !owned.some(nic => nic.index === index))
      units.push(removeTraces(index, '', input))
  return { units, unremovable }
}

/** A device may have only the MAC address of the NIC: it is not ours without a name, an address or a route of ours. */
function isConfigured(nic: OwnedNic, link: Link, { observed }: RemovalInput): boolean {
  const names = [link.name, ...link.altnames]
  const ours = new Set(nic.record?.addresses)
  return (
    names.includes(interfaceName(nic.index)) ||
    names.includes(altnameOf(nic.record?.portId) ?? '') ||
    observed.addresses.some(({ ifindex, cidr }) => ifindex === link.ifindex && ours.has(cidr)) ||
    observed.routes.some(({ devices, table }) => devices.includes(link.ifindex) && nic.tables.has(table))
  )
}

/** For devices that are stacked on the NIC. */
function isDisturbing(change: Change): boolean {
  if (change.kind === 'mtu') return change.to < change.from
  // A removal never sets a link up.
  return change.kind === 'name' || change.kind === 'link'
}

/** A file that stays would configure the NIC again at the next boot, so someone has to decide who owns it. */
function foreignFileOf(index: number, { observed, paths }: RemovalInput): Refusal | undefined {
  for (const path of filesOfIndex(paths, index)) {
    const file = observed.files[path]
    if (file && isForeign(file)) return foreignFileAt(path, file)
  }
  return undefined
}

function removeNic(nic: OwnedNic, link: Link, input: RemovalInput): Unit {
  const { observed } = input
  const name = formerName(link, nic, observed)
  const known = scopeOf(nic.index, nic.macAddress, input)
  // udev made the former name an altname when the NIC got another name.
  const scope = {
    ...known,
    altnames: new Set([...known.altnames, name]),
    linkLocal: { route: (route: ObservedRoute) => known.tables.has(route.table) },
  }
  const now = nicState(observed, link, scope)
  const former = nic.record?.former
  const ours = new Set(nic.record?.addresses)
  const addresses = now.addresses.filter(({ cidr }) => !ours.has(cidr))
  const target: NicState = {
    name,
    mtu: former?.mtu ?? now.mtu,
    // The owner of a foreign address still uses the link.
    up: now.up && (addresses.length > 0 || (former?.up ?? false)),
    addresses,
    routes: [],
    rules: [],
    nft: {},
    altnames: [],
    sysctls: { ...kernelLinkLocal(now), ...former?.sysctls },
    manager: 'none',
    files: absent(scope.files),
  }
  const returned: Change[] = former?.managed
    ? [{ kind: 'manager', from: 'none', to: 'other', ...(former.leased ? { leased: true } : {}) }]
    : []
  return {
    ...unitOf(nic.index, nic.macAddress),
    ifindex: link.ifindex,
    changes: [...changesBetween(now, target), ...returned],
  }
}

/** Routes and addresses are gone with the device; rules and files are still there. */
function removeTraces(index: number, macAddress: string, input: RemovalInput): Unit {
  const scope = scopeOf(index, macAddress, input)
  const now = nodeState(input.observed, scope)
  return {
    ...unitOf(index, macAddress),
    changes: [
      ...now.rules.map(rule => ({ kind: 'rule', op: 'remove', rule }) as const),
      ...fileChanges(now, { files: absent(scope.files) }),
    ],
  }
}

/** Without a MAC address: whatever is left of the index, of any NIC. */
function scopeOf(index: number, macAddress: string, input: RemovalInput): NicScope {
  const { interfaces, observed, owned, paths } = input
  const nic = owned.find(entry => entry.macAddress === macAddress)
  // A copy of a file names rules that the NIC of the original still needs.
  const isOwned = (rule: string) => owned.some(({ rules }) => rules.has(rule))
  const rules = nic?.rules ?? new Set(bootRules(observed, paths, index).filter(rule => !isOwned(rule)))
  const inUse = interfaces.some(nic => nic.index === index)
  const files = filesOfIndex(paths, index).filter(path => {
    const file = observed.files[path]
    if (file && isForeign(file)) return false
    const configured = macAddressIn(file?.text)
    return configured === undefined ? !inUse : configured === macAddress || macAddress === ''
  })
  return {
    tables: nic?.tables ?? new Set(),
    mainRoutes: new Set(nic?.record?.mainRoutes),
    rule: rule => namesRule(rules, rule),
    altnames: new Set([altnameOf(nic?.record?.portId)]),
    addresses: new Set(nic?.record?.addresses),
    files: macAddress === '' ? files : [...files, recordPath(paths, macAddress)],
  }
}

/** The former name if it is known and free, else a neutral one: the multinic name must become free. */
function formerName(link: Link, nic: OwnedNic, observed: Observed): string {
  if (!/^multinic[0-9]$/.test(link.name)) return link.name
  const former = nic.record?.former?.name
  const free = (name: string) =>
    !observed.links.some(
      other => other.ifindex !== link.ifindex && (other.name === name || other.altnames.includes(name)),
    )
  if (former && /^[A-Za-z0-9._-]{1,15}$/.test(former) && free(former)) return former
  return `nic${link.ifindex}`
}

function absent(paths: readonly string[]): Record<string, undefined> {
  return Object.fromEntries(paths.map(path => [path, undefined]))
}

function unitOf(index: number, macAddress: string): Omit<Unit, 'changes'> {
  const name = interfaceName(index)
  return { purpose: 'remove', index, name, macAddress, group: `remove ${name} ${macAddress}` }
}
