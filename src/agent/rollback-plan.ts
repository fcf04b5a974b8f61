/**
 * Decides how to take changes back: every value that still is one that we set goes back to what it was before.
 *
 * Pure. A value that is neither is contested: somebody else changed it meanwhile, and it is reported, not overwritten.
 */
import { equalJson } from '../contract/json.ts'
import { type Change, routeText, ruleText } from './change.ts'
import { changesBetween, fileChanges, type NicState, routeSpec, ruleSpec } from './nic-state.ts'
import { type Link, linkByIndex, type Observed, ownMac } from './observed.ts'
import { parkingName, parkNames } from './renames.ts'
import type { Unit } from './unit.ts'

export interface Undo {
  units: Unit[]
  contested: string[]
}

/** The values that one thing had: before us, and after each of our changes. Absence is a value too. */
interface Trail {
  kind: Change['kind']
  key: string
  values: unknown[]
}

export function planUndo(
  units: readonly Unit[],
  observed: Observed,
  { only }: { only?: 'files' | 'kernel' } = {},
): Undo {
  const contested: string[] = []
  const restored = shareOut(units, only)
    .reverse()
    .map(({ unit, trails }): Unit => {
      const link = unit.ifindex === undefined ? undefined : sameDevice(observed, unit.ifindex, unit.mac)
      const [now, then] = states(trails, observed, link, message => contested.push(`${unit.name}: ${message}`))
      const back = link ? changesBetween(now, then) : [...withoutDevice(now, then), ...fileChanges(now, then)]
      return { ...unit, purpose: 'undo', changes: back }
    })
  return { units: parkNames(restored.filter(unit => unit.changes.length > 0)), contested }
}

/**
 * One NIC may stand in several rounds of a run: its changes are one trail. A file or rule that one unit took away and
 * another one put there is one trail too, and goes back with the first.
 */
function shareOut(units: readonly Unit[], only: 'files' | 'kernel' | undefined): { unit: Unit; trails: Trail[] }[] {
  const shared = new Map<string, Trail>()
  const shares = new Map<string, { unit: Unit; trails: Trail[] }>()
  for (const unit of units) {
    const nic = `${unit.name} ${unit.mac} ${unit.ifindex}`
    const share = shares.get(nic) ?? { unit, trails: [] }
    shares.set(nic, share)
    for (const change of unit.changes) {
      if (only && (change.kind === 'file') !== (only === 'files')) continue
      const { key, before, after } = valuesOf(change)
      const id = `${change.kind === 'file' || change.kind === 'rule' ? '' : nic} ${change.kind} ${key}`
      const trail = shared.get(id)
      if (trail) trail.values.push(after)
      else {
        const first = { kind: change.kind, key, values: [before, after] }
        shared.set(id, first)
        share.trails.push(first)
      }
    }
  }
  return [...shares.values()]
}

/** An ifindex is used again after a reboot or a replug: the MAC must agree. */
function sameDevice(observed: Observed, ifindex: number, mac: string): Link | undefined {
  const link = linkByIndex(observed, ifindex)
  return link && ownMac(link) === mac ? link : undefined
}

function withoutDevice(now: NicState, then: NicState): Change[] {
  return changesBetween(now, { ...now, rules: then.rules, files: now.files })
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
    default:
      return { key: '', before: change.from, after: change.to }
  }
}

/** Two states of the NIC that hold only what we touched: as it is now, and as it was. */
function states(
  trails: readonly Trail[],
  observed: Observed,
  link: Link | undefined,
  contest: (message: string) => void,
): [now: NicState, then: NicState] {
  const current = currentValues(observed, link)
  const manager = observed.managers[link?.ifindex ?? 0] ?? 'none'
  const base = { name: link?.name ?? '', mtu: link?.mtu ?? 0, up: link?.up ?? false, manager }
  const [now, then] = [emptyState(base), emptyState(base)]
  for (const { kind, key, values } of trails) {
    if (!link && kind !== 'rule' && kind !== 'file') continue
    const value = current(kind, key)
    // An undo may have been cut short as well, between the two halves of a rename.
    const parked = kind === 'name' && link !== undefined && value === parkingName(link.ifindex)
    const known = parked || values.some(entry => same(kind, entry, value))
    if (!known) contest(`${[kind, key].filter(Boolean).join(' ')} is neither what it was nor what was set`)
    put(now, kind, key, value)
    put(then, kind, key, known ? values[0] : value)
  }
  return [now, then]
}

function emptyState(base: Pick<NicState, 'name' | 'mtu' | 'up' | 'manager'>): NicState {
  return { ...base, addresses: [], routes: [], rules: [], altnames: [], sysctls: {}, files: {} }
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
        if (!found) return undefined
        const { cidr, noPrefixRoute, lifetime } = found
        return { cidr, noPrefixRoute, ...(lifetime ? { lifetime } : {}) }
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
    }
  }
}

/** A leased address counts its time down: it is the same one. */
function same(kind: Change['kind'], a: unknown, b: unknown): boolean {
  if (kind !== 'address' || a === undefined || b === undefined) return equalJson(a, b)
  return equalJson({ ...a, lifetime: undefined }, { ...b, lifetime: undefined })
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
    default:
      if (value !== undefined) listOf(state, kind).push(value)
  }
}

function listOf(state: NicState, kind: 'address' | 'route' | 'rule' | 'altname'): unknown[] {
  return { address: state.addresses, route: state.routes, rule: state.rules, altname: state.altnames }[kind]
}
