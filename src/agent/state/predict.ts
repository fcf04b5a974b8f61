/**
 * Predicts the state of a node after changes, as the planner needs it: removals are planned first, and the other changes
 * on top of the state that removals leave.
 *
 * Pure. Tests compare the prediction with a real kernel.
 */
import { type Change, familyOf, routeText, ruleKey } from './change.ts'
import { routeSpec, ruleSpec } from './nic-state.ts'
import { type Observed, scopeLink } from './observed.ts'
import type { Unit } from './unit.ts'

export function predictState(observed: Observed, units: readonly Unit[]): Observed {
  return units.reduce((state, unit) => {
    const files = unit.changes.filter(change => change.kind === 'file')
    const others = unit.changes.filter(change => change.kind !== 'file')
    return others.reduce((now, change) => predictChange(now, unit.ifindex, change), withFiles(state, files))
  }, observed)
}

/** The files as they are once these units are committed. */
export function predictFiles(observed: Observed, units: readonly Unit[]): Observed {
  return withFiles(
    observed,
    units.flatMap(({ changes }) => changes.filter(change => change.kind === 'file')),
  )
}

/** All files at once: copying the record once per change is slow. */
function withFiles(observed: Observed, changes: readonly (Change & { kind: 'file' })[]): Observed {
  if (changes.length === 0) return observed
  const files = { ...observed.files }
  for (const { path, to } of changes) {
    if (to) files[path] = to
    else delete files[path]
  }
  return { ...observed, files }
}

function predictChange(
  observed: Observed,
  ifindex: number | undefined,
  change: Exclude<Change, { kind: 'file' }>,
): Observed {
  const link = (values: Partial<Observed['links'][number]>): Observed => ({
    ...observed,
    links: observed.links.map(entry => (entry.ifindex === ifindex ? { ...entry, ...values } : entry)),
  })
  const altnames = observed.links.find(entry => entry.ifindex === ifindex)?.altnames ?? []
  switch (change.kind) {
    case 'name':
      return link({ name: change.to })
    case 'mtu':
      return link({ mtu: change.to })
    case 'link':
      return change.to === 'up'
        ? link({ up: true, carrier: true })
        : withoutDownRoutes(link({ up: false, carrier: false }), ifindex)
    case 'altname':
      return link({ altnames: withAltname(altnames, change.op, change.altname) })
    case 'address': {
      const kept = observed.addresses.filter(entry => entry.ifindex !== ifindex || entry.cidr !== change.address.cidr)
      const added = { ...change.address, ifindex: ifindex ?? 0, family: familyOf(change.address.cidr) }
      const state = { linkLocal: false, dadFailed: false, tentative: false }
      return { ...observed, addresses: change.op === 'add' ? [...kept, { ...added, ...state }] : kept }
    }
    case 'route': {
      const { route } = change
      const scope = route.family === 4 && !route.gateway ? scopeLink : 0
      const added = { ...route, type: 1, devices: [ifindex ?? 0], scope }
      const kept = observed.routes.filter(
        entry =>
          entry.table !== route.table ||
          !entry.devices.includes(ifindex ?? 0) ||
          routeText(routeSpec(entry)) !== routeText(route),
      )
      return { ...observed, routes: change.op === 'add' ? [...kept, added] : kept }
    }
    case 'rule': {
      const { rule } = change
      const kept = observed.rules.filter(
        entry => entry.table !== rule.table || ruleKey(ruleSpec(entry)) !== ruleKey(rule),
      )
      return { ...observed, rules: change.op === 'add' ? [...kept, { ...rule, plain: true }] : kept }
    }
    case 'sysctl': {
      const values = { ...observed.sysctls[ifindex ?? 0], [change.key]: change.to }
      return { ...observed, sysctls: { ...observed.sysctls, [ifindex ?? 0]: values } }
    }
    case 'nft': {
      const { [change.family]: _, ...others } = observed.nft
      return { ...observed, nft: change.to === undefined ? others : { ...others, [change.family]: change.to } }
    }
    case 'manager':
      return { ...observed, managers: { ...observed.managers, [ifindex ?? 0]: change.to } }
  }
}

/** A link that goes down loses its routes, and its IPv6 addresses too. */
function withoutDownRoutes(observed: Observed, ifindex: number | undefined): Observed {
  return {
    ...observed,
    routes: observed.routes.filter(route => !route.devices.includes(ifindex ?? 0)),
    addresses: observed.addresses.filter(entry => entry.ifindex !== ifindex || entry.family === 4),
  }
}

function withAltname(names: readonly string[], op: 'add' | 'remove', name: string): string[] {
  const others = names.filter(entry => entry !== name)
  return op === 'add' ? [...others, name] : others
}
