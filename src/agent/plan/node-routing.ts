/**
 * What all NICs share on a node: the nftables tables, the rules and routes by which packets of the node's own address go to
 * networks of NICs, and the files that restore the tables at boot.
 *
 * Pure. The record of the node names what multinic has set; a rule or route that it does not name is foreign.
 */

import { type Family, parseCidr } from '../../contract/address.ts'
import { isOurPriority, primaryTable } from '../../contract/routing-scheme.ts'
import { sharedFiles } from '../backends/node.ts'
import type { Settings } from '../config.ts'
import type { NodeNetworks } from '../observe/node-networks.ts'
import type { Paths } from '../paths.ts'
import {
  type Change,
  describeChange,
  familyOf,
  type RouteSpec,
  type RuleSpec,
  routeText,
  ruleText,
} from '../state/change.ts'
import type { Difference } from '../state/difference.ts'
import { nftTable } from '../state/nftables.ts'
import { changesBetween, type NicState, routeSpec, ruleSpec } from '../state/nic-state.ts'
import { nodeFiles, nodeRecordPath } from '../state/node-files.ts'
import {
  type FileState,
  linkByIndex,
  type Observed,
  type ObservedRule,
  permanentMacOf,
  protocolKernel,
} from '../state/observed.ts'
import { namesRule } from '../state/owned-rules.ts'
import { type NodeRecord, readNodeRecord } from '../state/records.ts'
import type { Unit } from '../state/unit.ts'
import type { NodeShare } from './node-shares.ts'
import { sharedRules } from './policy-routing.ts'

export interface DesiredNode {
  rules: RuleSpec[]
  /** By the ifindex of the primary device of their family. */
  routes: Map<number, RouteSpec[]>
  /** The table of each family that a NIC has, in canonical form. */
  nft: Partial<Record<Family, string>>
  files: Record<string, FileState | undefined>
}

export const nodeGroup = 'node'
const families: readonly Family[] = [4, 6]

interface DesiredNodeInput {
  settings: Settings
  paths: Paths
  observed: Observed
  /** Reports whether a NIC of ours has the rule, or had it. */
  isOurs(rule: ObservedRule): boolean
}

/** Without NICs, nothing is desired. */
export function desiredNode(
  shares: readonly NodeShare[],
  node: NodeNetworks,
  { settings, paths, observed, isOurs }: DesiredNodeInput,
): DesiredNode {
  const table = primaryTable(settings.tableBase)
  const record = recordOf(observed, paths)
  const usable = families.filter(family => node.routers[family] !== undefined)
  const main = [...new Set(shares.flatMap(({ destinations }) => destinations))].sort()
  const routes = new Map<number, RouteSpec[]>()
  for (const family of usable) {
    const router = node.routers[family]
    if (!router) continue
    const own = main
      .filter(network => familyOf(network) === family)
      .map(destination => primaryRoute(family, destination, router.gateway, table))
    if (own.length > 0) routes.set(router.ifindex, [...(routes.get(router.ifindex) ?? []), ...own])
  }
  const networks = main.flatMap(text => parseCidr(text) ?? [])
  const isForeign = (rule: ObservedRule) =>
    isOurPriority(rule.priority) && !isOurs(rule) && !namesRule(new Set(record?.rules), rule)
  const sources = shares.flatMap(({ marked }) => marked.sources).flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  const rules = families.flatMap(family =>
    sharedRules(family, {
      ...{ table, mask: settings.markMask, primary: node.primary, sources },
      networks: usable.includes(family) ? networks : [],
      skips: !observed.rules.some(rule => rule.family === family && isForeign(rule)),
    }),
  )
  const tables = families.flatMap(family => {
    if (!shares.some(({ marked }) => marked.sources.some(source => source.family === family))) return []
    const otherWay = rules.some(rule => rule.family === family && rule.table === table)
    const marked = shares.map(share => share.marked)
    return [[family, nftTable(family, marked, { mask: settings.markMask, wires: node.wires, otherWay })] as const]
  })
  // The kernel may have refused the table of one family alone.
  const isAccepted = (family: Family) => observed.nftError === undefined || observed.nft[family] !== undefined
  const nft = Object.fromEntries(tables.filter(([family]) => isAccepted(family)))
  return { rules, routes, nft, files: filesOf(rules, routes, tables, { paths, observed }) }
}

function filesOf(
  rules: readonly RuleSpec[],
  routes: ReadonlyMap<number, readonly RouteSpec[]>,
  tables: readonly (readonly [Family, string])[],
  { paths, observed }: { paths: Paths; observed: Observed },
): DesiredNode['files'] {
  const absent = Object.fromEntries(nodeFiles(paths).map(path => [path, undefined]))
  if (tables.length === 0) return absent
  const record: NodeRecord = {
    version: 1,
    rules: rules.map(ruleText),
    routes: [...routes.values()].flat().map(route => routeText(route)),
  }
  const file = (text: string, mode: number): FileState => ({ text, mode, uid: 0, gid: 0 })
  const byDevice = [...routes].flatMap(([ifindex, list]) =>
    list.map(route => ({ route, device: linkByIndex(observed, ifindex)?.name ?? '' })),
  )
  const texts = Object.entries(sharedFiles({ tables, rules, routes: byDevice }, paths))
  const open = Object.fromEntries(texts.map(([path, text]) => [path, file(text, 0o644)]))
  return {
    ...absent,
    // Like the files of a NIC: only where the directories are.
    ...(observed.directories.includes(paths.units) && observed.directories.includes(paths.boot) ? open : {}),
    [nodeRecordPath(paths)]: file(`${JSON.stringify(record, undefined, 2)}\n`, 0o600),
  }
}

/**
 * The gateway is reached by the primary device, whatever the main table says about its network. systemd-networkd removes routes
 * of others from a device that it configures, except those with the protocol of the kernel.
 */
function primaryRoute(family: Family, destination: string, gateway: string, table: number): RouteSpec {
  const metric = family === 4 ? 0 : 1024
  return { family, table, destination, gateway, metric, onlink: true, protocol: protocolKernel }
}

function recordOf({ files }: Observed, paths: Paths): NodeRecord | undefined {
  return readNodeRecord(files[nodeRecordPath(paths)]?.text).record
}

/**
 * The changes that bring the node to the desired state, one unit for each device that routes are on. They fail and are rolled
 * back together, without any NIC.
 */
export function planNodeRouting(desired: DesiredNode | undefined, observed: Observed, paths: Paths): Unit[] {
  if (!desired) return []
  const record = recordOf(observed, paths)
  const devices = new Set([...desired.routes.keys(), ...devicesOf(record, observed)])
  const [first, ...more] = devices.size > 0 ? [...devices] : [undefined]
  return [first, ...more]
    .map((ifindex, position) => nodeUnit(ifindex, position === 0, { desired, record, observed }))
    .filter(unit => unit.changes.length > 0)
}

/** What differs from the desired state, files included or not. Tables that the kernel of this boot refused are not missing. */
export function nodeDifferences(
  desired: DesiredNode | undefined,
  observed: Observed,
  paths: Paths,
  part: 'all' | 'kernel',
): Difference[] {
  const changes = planNodeRouting(desired, observed, paths).flatMap(unit => unit.changes)
  return changes
    .filter(({ kind }) => (kind !== 'file' || part === 'all') && (kind !== 'nft' || observed.nftError === undefined))
    .map(change => ({ reason: 'VerifyFailed', message: `still to do: ${describeChange(change)}` }))
}

/** The tables after these units, without changes that did not take effect. */
export function tablesAfter({ nft }: Observed, units: readonly Unit[], done: ReadonlySet<Change>): Observed['nft'] {
  const after = { ...nft }
  for (const change of units.flatMap(({ changes }) => changes)) {
    if (change.kind !== 'nft' || !done.has(change)) continue
    if (change.to === undefined) delete after[change.family]
    else after[change.family] = change.to
  }
  return after
}

function devicesOf(record: NodeRecord | undefined, { routes }: Observed): number[] {
  const recorded = new Set(record?.routes)
  return routes.flatMap(route => (recorded.has(routeText(routeSpec(route))) ? route.devices : []))
}

interface NodePlanInput {
  desired: DesiredNode
  record: NodeRecord | undefined
  observed: Observed
}

function nodeUnit(ifindex: number | undefined, isFirst: boolean, { desired, record, observed }: NodePlanInput): Unit {
  const link = ifindex === undefined ? undefined : linkByIndex(observed, ifindex)
  const wanted = desired.routes.get(ifindex ?? 0) ?? []
  const texts = new Set([...wanted.map(route => routeText(route)), ...(record?.routes ?? [])])
  const present = observed.routes.filter(route => route.devices.every(device => device === ifindex)).map(routeSpec)
  const routes = ifindex === undefined ? [] : present.filter(route => texts.has(routeText(route)))
  const desiredRules = new Set(desired.rules.map(ruleText))
  const recorded = new Set(record?.rules)
  const isOurs = (rule: RuleSpec) => desiredRules.has(ruleText(rule)) || namesRule(recorded, rule)
  const rules = observed.rules.filter(rule => rule.plain && isOurs(rule)).map(ruleSpec)
  const now: NicState = {
    ...emptyState,
    routes,
    ...(isFirst
      ? {
          rules,
          nft: observed.nft,
          files: Object.fromEntries(Object.keys(desired.files).map(path => [path, observed.files[path]])),
        }
      : {}),
  }
  const target: NicState = {
    ...emptyState,
    routes: wanted,
    ...(isFirst
      ? { rules: desired.rules.map(rule => sameRule(rule, rules)), nft: desired.nft, files: desired.files }
      : {}),
  }
  return {
    purpose: 'node',
    index: -1,
    name: nodeGroup,
    macAddress: link ? permanentMacOf(link) : '',
    ...(ifindex === undefined ? {} : { ifindex }),
    group: nodeGroup,
    changes: changesBetween(now, target),
  }
}

/** Who added a rule does not matter to packets. */
function sameRule(rule: RuleSpec, present: readonly RuleSpec[]): RuleSpec {
  return present.find(other => ruleText(other) === ruleText(rule)) ?? rule
}

const emptyState: NicState = {
  name: '',
  mtu: 0,
  up: true,
  addresses: [],
  routes: [],
  rules: [],
  nft: {},
  altnames: [],
  sysctls: {},
  manager: 'none',
  files: {},
}
