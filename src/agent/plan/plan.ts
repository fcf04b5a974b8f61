/**
 * Plans a pass: from the request and the observed state to units of changes, refusals and missing NICs.
 *
 * Pure. When nothing has to change, the list of units is empty (G5).
 */

import type { Backend } from '../../contract/backend.ts'
import type { Interface } from '../../contract/interfaces.ts'
import type { DetectedBackend } from '../backends/backend.ts'
import { detectBackend } from '../backends/detect.ts'
import { filesOfIndex, ownedNics, ownFiles } from '../backends/owned.ts'
import type { Settings } from '../config.ts'
import { nodeAddressesOf } from '../observe/node-addresses.ts'
import { type NodeNetworks, nodeNetworks } from '../observe/node-networks.ts'
import type { Paths } from '../paths.ts'
import { type RuleSpec, ruleText } from '../state/change.ts'
import type { Unread } from '../state/change-keys.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { isLeftByManager, isRouteLeftByManager } from '../state/link-local.ts'
import { type NicScope, nicState } from '../state/nic-state.ts'
import { type Link, linksByMac, type Observed } from '../state/observed.ts'
import { namesRule } from '../state/owned-rules.ts'
import { type OwnedNic, ownedNicOf, recordPath } from '../state/ownership.ts'
import { predictState } from '../state/predict.ts'
import type { Unit } from '../state/unit.ts'
import { altnameOf, desiredNics, hasMacAltname } from './desired.ts'
import { type ForeignRules, foreignRulesOf } from './foreign-rules.ts'
import { changesTowards, mainRoutesOf, targetOf } from './nic-target.ts'
import { type DesiredNode, desiredNode, planNodeRouting } from './node-routing.ts'
import { nodeShares } from './node-shares.ts'
import { foreignRecord, type GuardInput, nodeDependsOn, type Refusal, runGuards } from './preflight.ts'
import { planRemovals } from './removal.ts'
import { groupRenames, insertTemporaryNames } from './renames.ts'
import { refuseRequest } from './request-guards.ts'
import { slotsOf } from './slots.ts'
import { needsRemoval, takesRouteOver, withHandOver } from './take-over.ts'
import { hasUnknownShare, stopsAll, unreadOf } from './unread.ts'

export interface PlanInput {
  interfaces: readonly Interface[]
  /** Addresses that the Node lists. */
  nodeAddresses: readonly string[]
  podCIDRs?: readonly string[]
  serviceCIDRs?: readonly string[]
  addressesOfNodes?: NonNullable<GuardInput['addressesOfNodes']>
  settings: Settings
  paths: Paths
  observed: Observed
  /** Of the journal of an earlier run. */
  unread?: readonly Unread[]
  /** Interfaces that have failed in this run; they are not tried again. */
  skip?: ReadonlySet<number>
  /** Orphaned interfaces count for what all NICs share: their removal has failed. */
  keepsOrphans?: boolean
}

/** A requested interface whose NIC is present. */
interface Candidate {
  requested: Interface
  link: Link
}

interface Accepted {
  nic: DesiredNic
  link: Link
  /** Reports whether multinic set this rule for the NIC, and no NIC needs it any more. */
  isStale: (rule: RuleSpec) => boolean
}

export interface Plan {
  backend: DetectedBackend
  /** In order of execution. Removals come first: they free names and tables. Every unit has changes. */
  units: Unit[]
  /** NICs that passed all guards. */
  accepted: Accepted[]
  /** What all NICs share. Undefined if it has to stay as it is. */
  node: DesiredNode | undefined
  /** By index. */
  refused: Map<number, Refusal>
  missing: Interface[]
  /** Orphaned interfaces that a guard protects. */
  unremovable: { name: string; refusal: Refusal }[]
  /** Routing tables of multinic. */
  tables: ReadonlySet<number>
  foreignRules: ForeignRules
}

export function planRun(input: PlanInput): Plan {
  const { settings, paths, observed, interfaces } = input
  const backend = detectBackend(observed, paths, settings)
  const owned = ownedNics(observed, paths)
  const refused = new Map<number, Refusal>()
  const missing: Interface[] = []
  const candidates: Candidate[] = []

  const guardInput = { ...input, ...guardInputOf(input, owned, backend) }
  const unknown = owned.filter(nic => isPresent(nic, observed) && hasUnknownShare(nic, input))
  const keepsShared = unknown.find(nic => !interfaces.some(({ macAddress }) => macAddress === nic.macAddress))
  const stopped =
    stopsAll(input) ?? (keepsShared && (unreadOf(keepsShared, input) ?? foreignRecord(keepsShared, guardInput)))
  for (const requested of interfaces) {
    if (input.skip?.has(requested.index)) continue
    const [link, ...others] = linksByMac(observed.links, requested.macAddress)
    if (!link) missing.push(requested)
    else {
      const refusal =
        unreadOf(requested, input) ??
        stopped ??
        refuseRequest(requested, [link, ...others], input) ??
        nodeDependsOn(link, guardInput, ownedNicOf(owned, requested))
      if (refusal) refused.set(requested.index, refusal)
      else candidates.push({ requested, link })
    }
  }
  if (backend.kind === 'unknown')
    for (const { requested } of candidates)
      refused.set(requested.index, { reason: 'BackendUnknown', message: backend.because.join(', ') })

  const ours = new Set([
    ...candidates.map(({ link }) => link.ifindex),
    ...ownedDevices(observed, owned, refused, interfaces),
  ])
  const removals = planRemovals({ ...input, owned, guardInput: { ...guardInput, ours } })
  const afterRemovals = predictState(observed, removals.units)
  const slots = slotsOf(interfaces, owned)
  const networksBeside = (list: readonly Candidate[]) => {
    const devices = [...list.map(({ link }) => link.ifindex), ...ownedDevices(observed, owned, refused, interfaces)]
    return nodeNetworks({ ...input, ...guardInput, ours: new Set(devices) })
  }
  const desiredOf = (list: readonly Candidate[], networks: NodeNetworks) =>
    desiredNics(
      list.map(({ requested }) => requested),
      settings,
      networks,
      slots,
    )
  const allNetworks = networksBeside(candidates)
  const allDesired = desiredOf(candidates, allNetworks)
  const allowed = allowedOf(candidates, allDesired, { ...guardInput, observed: afterRemovals, ours }, owned, refused)
  // The networks of a refused NIC are networks of the node.
  const isSame = allowed.length === candidates.length
  const networks = isSame ? allNetworks : networksBeside(allowed)
  const desired = isSame ? allDesired : desiredOf(allowed, networks)
  const desiredRules = new Set(desired.flatMap(nic => nic.rules.map(ruleText)))
  const accepted = desired.flatMap((nic): Accepted[] => {
    const link = allowed.find(({ requested }) => requested.index === nic.index)?.link
    const { rules } = ownedNicOf(owned, nic) ?? {}
    const isStale = (rule: RuleSpec) =>
      rules !== undefined && !desiredRules.has(ruleText(rule)) && namesRule(rules, rule)
    const named = link && hasMacAltname(link) ? { ...nic, macAltname: true as const } : nic
    return link ? [{ nic: named, link, isStale }] : []
  })

  // What is requested of a NIC stands for what its record would say.
  const assumed = interfaces.flatMap(requested => {
    const [link] = linksByMac(observed.links, requested.macAddress)
    return link && unknown.some(({ macAddress }) => macAddress === requested.macAddress) ? [{ requested, link }] : []
  })
  const assumedNics = assumed.length > 0 ? desiredOf(assumed, networksBeside([...allowed, ...assumed])) : []
  const removed = new Set(input.keepsOrphans ? [] : removals.units.map(({ macAddress }) => macAddress))
  const shares = nodeShares(
    [...desired, ...assumedNics],
    owned.filter(nic => !removed.has(nic.macAddress) && isPresent(nic, observed)),
  )
  const isOurs = (rule: RuleSpec) => desiredRules.has(ruleText(rule)) || owned.some(nic => namesRule(nic.rules, rule))
  const node = stopped ? undefined : desiredNode(shares, networks, { settings, paths, observed, isOurs })
  const units =
    backend.kind === 'unknown' ? [] : planUnits(accepted, { input, owned, afterRemovals, backend: backend.kind })
  const shared = planNodeRouting(node, observed, paths)
  return {
    backend,
    units: [...removals.units, ...units, ...shared].filter(unit => unit.changes.length > 0),
    accepted,
    node,
    refused,
    missing,
    unremovable: removals.unremovable,
    tables: new Set([...guardInput.tables, ...accepted.map(({ nic }) => nic.table)]),
    foreignRules: foreignRulesOf(desired, desiredRules, observed, owned),
  }
}

function isPresent({ macAddress }: OwnedNic, { links }: Observed): boolean {
  return linksByMac(links, macAddress).length > 0
}

function guardInputOf(
  { observed, settings, paths, nodeAddresses }: PlanInput,
  owned: readonly OwnedNic[],
  { kind: backend }: DetectedBackend,
): GuardInput {
  const tables = new Set(owned.flatMap(nic => [...nic.tables]))
  const files = ownFiles(paths)
  const own = nodeAddressesOf(nodeAddresses, observed, owned)
  const tablesOfDevices = new Map(
    owned.flatMap(nic => linksByMac(observed.links, nic.macAddress).map(link => [link.ifindex, nic.tables] as const)),
  )
  return { observed, settings, backend, paths, nodeAddresses: own, ours: new Set(), tables, tablesOfDevices, files }
}

/** Devices that multinic has configured, except those that the node depends on. */
function ownedDevices(
  observed: Observed,
  owned: readonly OwnedNic[],
  refused: ReadonlyMap<number, Refusal>,
  interfaces: readonly Interface[],
): number[] {
  const excluded = new Set(interfaces.filter(nic => refused.has(nic.index)).map(nic => nic.macAddress))
  return owned
    .filter(({ macAddress }) => !excluded.has(macAddress))
    .flatMap(({ macAddress }) => linksByMac(observed.links, macAddress).map(link => link.ifindex))
}

/**
 * Runs the guards, then refuses NICs whose name another device keeps. A NIC refused that way may in turn keep the name of
 * another one. Adds to `refused`.
 */
function allowedOf(
  candidates: readonly Candidate[],
  desired: readonly DesiredNic[],
  guardInput: GuardInput,
  owned: readonly OwnedNic[],
  refused: Map<number, Refusal>,
): Candidate[] {
  let allowed = candidates.filter(({ requested, link }) => {
    const nic = desired.find(entry => entry.index === requested.index)
    const refusal = nic && runGuards(nic, link, guardInput, ownedNicOf(owned, requested))
    if (refusal) refused.set(requested.index, refusal)
    return nic !== undefined && !refused.has(requested.index)
  })
  for (;;) {
    const conflicts = allowed.flatMap(({ requested }) => {
      const holder = guardInput.observed.links.find(
        entry =>
          (entry.name === requested.name || entry.altnames.includes(requested.name)) &&
          !allowed.some(other => other.link.ifindex === entry.ifindex),
      )
      return holder ? [{ requested, holder }] : []
    })
    for (const { requested, holder } of conflicts)
      refused.set(requested.index, {
        reason: 'InterfaceNameInUse',
        message: `the device with MAC address ${holder.macAddress} is named ${requested.name}`,
      })
    if (conflicts.length === 0) return allowed
    allowed = allowed.filter(({ requested }) => !refused.has(requested.index))
  }
}

interface UnitInput {
  input: PlanInput
  owned: readonly OwnedNic[]
  afterRemovals: Observed
  backend: Backend
}

function planUnits(accepted: readonly Accepted[], unitInput: UnitInput): Unit[] {
  const indexes = new Set(accepted.map(({ nic }) => nic.index))
  // Two NICs whose records have the same index would both remove its files.
  const dependent = accepted.some(({ nic }) => {
    const owned = ownedNicOf(unitInput.owned, nic)
    return owned !== undefined && owned.index !== nic.index
  })
  const units: Unit[] = []
  let before = unitInput.afterRemovals
  for (const { nic, link, isStale } of accepted) {
    const owned = ownedNicOf(unitInput.owned, nic)
    const { paths, settings } = unitInput.input
    const state = before
    const scope: NicScope = {
      ...scopeOf(nic, owned, paths, isStale, indexes),
      route: route => takesRouteOver(settings, route) && needsRemoval(route, link, state),
      ...(before.managers[link.ifindex] === 'other'
        ? { linkLocal: { address: address => isLeftByManager(address, link), route: isRouteLeftByManager } }
        : {}),
    }
    const now = nicState(before, link, scope)
    const target = targetOf(nic, link, now, scope, owned, unitInput)
    const changes = changesTowards(now, target)
    const mayReload = settings.takeover === 'dynamic' && before.networkdChanged === undefined
    const loaded = mayReload ? before.networkdFiles?.[link.ifindex] : undefined
    const unit: Unit = {
      purpose: 'apply',
      index: nic.index,
      name: nic.name,
      macAddress: nic.macAddress,
      ifindex: link.ifindex,
      group: nic.name,
      changes: withHandOver(changes, target.files, loaded),
    }
    units.push(unit)
    if (dependent) before = predictState(before, [unit])
  }
  return groupRenames(insertTemporaryNames(units))
}

function scopeOf(
  nic: DesiredNic,
  owned: OwnedNic | undefined,
  paths: Paths,
  isStale: Accepted['isStale'],
  indexes: ReadonlySet<number>,
): NicScope {
  const ownRules = new Set(nic.rules.map(ruleText))
  const staleIndex = owned !== undefined && !indexes.has(owned.index) ? owned.index : undefined
  return {
    tables: new Set([nic.table, ...(owned?.tables ?? [])]),
    // An identical rule of someone else is adopted.
    rule: rule => ownRules.has(ruleText(rule)) || isStale(rule),
    mainRoutes: new Set([...mainRoutesOf(nic), ...(owned?.record?.mainRoutes ?? [])]),
    altnames: new Set([nic.altname, altnameOf(owned?.record?.portId)]),
    addresses: new Set([...nic.addresses.map(({ cidr }) => cidr), ...(owned?.record?.addresses ?? [])]),
    files: [
      ...filesOfIndex(paths, nic.index),
      ...(staleIndex === undefined ? [] : filesOfIndex(paths, staleIndex)),
      recordPath(paths, nic.macAddress),
    ],
  }
}
