/**
 * Plans a rollback: every value that is still one that the agent set gets back the value from before its first change.
 *
 * Pure. Any other value is a conflict: someone else changed it meanwhile. Conflicts are reported and never overwritten.
 */
import { equalJson } from '../../contract/json.ts'
import { insertTemporaryNames, temporaryName } from '../plan/renames.ts'
import { type AddressSpec, type Change, lossesOf, type RouteSpec, routeText, ruleText } from '../state/change.ts'
import {
  addressSpec,
  changesBetween,
  fileChanges,
  type NicState,
  promoteSecondaries,
  routeSpec,
  ruleSpec,
} from '../state/nic-state.ts'
import { type Link, linkByIndex, type Observed, permanentMacOf, tableMain } from '../state/observed.ts'
import type { Unit } from '../state/unit.ts'

export interface RollbackPlan {
  units: Unit[]
  conflicts: string[]
}

/** The successive values of one property: before the agent, and after each of its changes. Undefined means absent. */
interface ValueHistory {
  kind: Change['kind']
  key: string
  values: unknown[]
}

export function planRollback(units: readonly Unit[], observed: Observed, only?: 'files'): RollbackPlan {
  const conflicts: string[] = []
  const restored = historiesByNic(units, only)
    .reverse()
    .map(({ unit, histories }): Unit => {
      const link = unit.ifindex === undefined ? undefined : sameDevice(observed, unit.ifindex, unit.macAddress)
      const report = (message: string) => conflicts.push(`${unit.name}: ${message}`)
      const [now, before] = statesOf(histories, observed, link, report)
      const changes = link ? changesBetween(now, before) : [...withoutDevice(now, before), ...fileChanges(now, before)]
      return { ...unit, purpose: 'rollback', changes }
    })
  return { units: insertTemporaryNames(restored.filter(unit => unit.changes.length > 0)), conflicts }
}

/**
 * Several rounds of a run may change the same NIC: its changes form one history. A file or rule that one unit removes and
 * another one adds has one history too, and is restored with the first unit.
 */
function historiesByNic(
  units: readonly Unit[],
  only: 'files' | undefined,
): { unit: Unit; histories: ValueHistory[] }[] {
  const known = new Map<string, ValueHistory>()
  const nics = new Map<string, { unit: Unit; histories: ValueHistory[] }>()
  for (const unit of units) {
    const nicKey = `${unit.name} ${unit.macAddress} ${unit.ifindex}`
    const nic = nics.get(nicKey) ?? { unit, histories: [] }
    nics.set(nicKey, nic)
    for (const change of unit.changes.flatMap(each => [...lossesOf(each), each])) {
      if (only && change.kind !== 'file') continue
      const { key, before, after } = valuesOf(change)
      const id = `${outlivesDevice(change.kind) ? '' : nicKey} ${change.kind} ${key}`
      const history = known.get(id)
      if (history) history.values.push(after)
      else {
        const first = { kind: change.kind, key, values: [before, after] }
        known.set(id, first)
        nic.histories.push(first)
      }
    }
  }
  return [...nics.values()]
}

/** The kernel may reuse an ifindex; the MAC address must match too. */
function sameDevice(observed: Observed, ifindex: number, macAddress: string): Link | undefined {
  const link = linkByIndex(observed, ifindex)
  return link && permanentMacOf(link) === macAddress ? link : undefined
}

function withoutDevice(now: NicState, before: NicState): Change[] {
  return changesBetween(now, { ...now, rules: before.rules, nft: before.nft, files: now.files })
}

function outlivesDevice(kind: Change['kind']): boolean {
  return kind === 'rule' || kind === 'nft' || kind === 'file'
}

function valuesOf(change: Change): { key: string; before: unknown; after: unknown } {
  const of = (key: string, value: unknown, op: 'add' | 'remove') =>
    op === 'add' ? { key, before: undefined, after: value } : { key, before: value, after: undefined }
  switch (change.kind) {
    case 'address':
      return of(change.address.cidr, change.address, change.op)
    case 'route':
      return of(routeText(change.route), change.route, change.op)
    case 'rule':
      return of(ruleText(change.rule), change.rule, change.op)
    case 'altname':
      return of(change.altname, change.altname, change.op)
    case 'sysctl':
      return { key: change.key, before: change.from, after: change.to }
    case 'file':
      return { key: change.path, before: change.from, after: change.to }
    case 'nft':
      return { key: String(change.family), before: change.from, after: change.to }
    default:
      return { key: '', before: change.from, after: change.to }
  }
}

/** Two states of the NIC, now and before, with only those properties that the agent changed. */
function statesOf(
  histories: readonly ValueHistory[],
  observed: Observed,
  link: Link | undefined,
  reportConflict: (message: string) => void,
): [now: NicState, before: NicState] {
  const current = currentValues(observed, link)
  const manager = observed.managers[link?.ifindex ?? 0] ?? 'none'
  const up = link?.up === true
  const [now, before] = [emptyState(up), emptyState(up)]
  // A manager that got the NIC by a removal does not know what the removal took from it.
  const formerManager = histories.find(({ kind }) => kind === 'manager')?.values[0] ?? manager
  const isReturned = manager === 'other' && formerManager === 'other'
  // The removal of an address must not take those of others with it.
  const changed = new Set(histories.map(({ key }) => key))
  const others = observed.addresses.filter(({ ifindex, cidr }) => ifindex === link?.ifindex && !changed.has(cidr))
  for (const state of [now, before]) state.addresses.push(...others.map(addressSpec))
  put(now, 'sysctl', promoteSecondaries, current('sysctl', promoteSecondaries))
  for (const { kind, key, values } of histories) {
    if (!link && !outlivesDevice(kind)) continue
    const value = current(kind, key)
    // A rollback may itself have been killed between the two steps of a rename.
    const halfRenamed = link && value === temporaryName(link.ifindex)
    const known = halfRenamed || values.some(entry => isSame(kind, entry, value))
    if (!known) reportConflict(`${[kind, key].filter(Boolean).join(' ')} has neither the old nor the new value`)
    put(now, kind, key, value)
    const keep = !known || isSameLease(kind, values[0], value) || (isReturned && isOfManager(kind, values[0]))
    put(before, kind, key, keep ? value : values[0])
  }
  return [now, before]
}

function emptyState(up: boolean): NicState {
  const device = { up, name: '', mtu: 0, manager: 'none' } as const
  return { ...device, addresses: [], routes: [], rules: [], nft: {}, altnames: [], sysctls: {}, files: {} }
}

function currentValues(observed: Observed, link: Link | undefined): (kind: Change['kind'], key: string) => unknown {
  return (kind, key) => {
    switch (kind) {
      case 'name':
        return link?.name
      case 'mtu':
        return link?.mtu
      case 'link':
        return link?.up ? 'up' : 'down'
      case 'address': {
        const found = observed.addresses.find(entry => entry.ifindex === link?.ifindex && entry.cidr === key)
        return found && addressSpec(found)
      }
      case 'route':
        return observed.routes
          .filter(entry => entry.type === 1 && entry.devices.includes(link?.ifindex ?? 0))
          .map(routeSpec)
          .find(route => routeText(route) === key)
      case 'rule':
        return observed.rules
          .filter(rule => rule.plain)
          .map(ruleSpec)
          .find(rule => ruleText(rule) === key)
      case 'altname':
        return link?.altnames.find(name => name === key)
      case 'sysctl':
        return observed.sysctls[link?.ifindex ?? 0]?.[key]
      case 'manager':
        return observed.managers[link?.ifindex ?? 0] ?? 'none'
      case 'file':
        return observed.files[key]
      case 'nft':
        return observed.nft[key === '4' ? 4 : 6]
    }
  }
}

/** The remaining lifetime of a leased address and the metric of its route do not count. */
function isSame(kind: Change['kind'], a: unknown, b: unknown): boolean {
  const lasting = (value: unknown) => value && { ...value, lifetime: undefined, metric: undefined }
  return kind === 'address' ? equalJson(lasting(a), lasting(b)) : equalJson(a, b)
}

/** What NetworkManager or networkd sets itself on a NIC that it has again: leased and link-local addresses, and routes. */
function isOfManager(kind: Change['kind'], value: unknown): boolean {
  if (kind === 'address') return value !== undefined
  return kind === 'route' && (value as RouteSpec | undefined)?.table === tableMain
}

/** The address is leased as before; only time has passed. */
function isSameLease(kind: Change['kind'], before: unknown, now: unknown): boolean {
  const isLeased = (value: unknown) => (value as AddressSpec | undefined)?.lifetime !== undefined
  return isLeased(before) && isLeased(now) && isSame(kind, before, now)
}

function put(state: NicState, kind: Change['kind'], key: string, value: unknown): void {
  switch (kind) {
    case 'name':
      state.name = value as string
      break
    case 'mtu':
      state.mtu = value as number
      break
    case 'link':
      state.up = value === 'up'
      break
    case 'manager':
      state.manager = value as NicState['manager']
      break
    case 'sysctl':
      if (value !== undefined) state.sysctls[key] = value as string
      break
    case 'file':
      state.files[key] = value as NicState['files'][string]
      break
    case 'nft':
      if (value !== undefined) state.nft[key === '4' ? 4 : 6] = value as string
      break
    default:
      if (value !== undefined) listOf(state, kind).push(value)
  }
}

function listOf(state: NicState, kind: 'address' | 'route' | 'rule' | 'altname'): unknown[] {
  return { address: state.addresses, route: state.routes, rule: state.rules, altname: state.altnames }[kind]
}
