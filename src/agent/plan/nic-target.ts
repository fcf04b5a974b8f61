/**
 * The state that a NIC shall get, with its files and its record, and the changes towards it.
 *
 * Pure.
 */

import type { Backend } from '../../contract/backend.ts'
import { interfaceName } from '../../contract/interfaces.ts'
import { isReadByNetworkManager } from '../backends/backends.ts'
import { setsKey } from '../backends/device.ts'
import { filesFor } from '../backends/files.ts'
import type { Settings } from '../config.ts'
import type { Paths } from '../paths.ts'
import { type Change, familyOf, routeText, ruleText } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { equivalentAddress, equivalentRoute, equivalentRule } from '../state/equivalent.ts'
import { isLinkLocalRoute, linkLocalRouteIn, managerMetric } from '../state/link-local.ts'
import { changesBetween, formerState, kernelLinkLocal, type NicScope, type NicState } from '../state/nic-state.ts'
import { type Link, type Observed, tableMain } from '../state/observed.ts'
import {
  isOurNetworkFile,
  type NicRecord,
  type OwnedNic,
  recordPath,
  recordText,
  sysctlFileOf,
} from '../state/ownership.ts'
import { isDynamicAddress, takesOver } from './take-over.ts'

export interface TargetInput {
  input: { paths: Paths; observed: Observed; settings: Settings }
  backend: Backend
}

export function mainRoutesOf(nic: DesiredNic): string[] {
  return nic.routes.filter(route => route.table === tableMain).map(route => routeText(route))
}

export function targetOf(
  nic: DesiredNic,
  link: Link,
  now: NicState,
  scope: NicScope,
  owned: OwnedNic | undefined,
  { input: { paths, observed, settings }, backend }: TargetInput,
): NicState {
  const ours = new Set([...nic.addresses.map(address => address.cidr), ...(owned?.record?.addresses ?? [])])
  const foreign = now.addresses.filter(
    address =>
      !ours.has(address.cidr) &&
      !address.cidr.startsWith('fe80:') &&
      !(takesOver(settings, familyOf(address.cidr)) && isDynamicAddress(address)),
  )
  const record: NicRecord = {
    version: 1,
    id: nic.index,
    mac: nic.macAddress,
    table: nic.table,
    marked: nic.marked,
    ...(nic.portId === undefined ? {} : { portId: nic.portId }),
    addresses: nic.addresses.map(address => address.cidr),
    rules: nic.rules.map(ruleText),
    mainRoutes: mainRoutesOf(nic),
    ...formerOf(now, owned),
  }
  const loaded = observed.networkdFiles?.[link.ifindex]
  // networkd would remove the address that its client leased.
  const isLeased = loaded !== undefined && !isOurNetworkFile(loaded)
  const byManager = isReadByNetworkManager(backend, observed)
  // NetworkManager adds these at boot.
  const hasLinkLocal = observed.routes.some(route => route.table === nic.table && isLinkLocalRoute(route))
  const isMissing = byManager && !hasLinkLocal && nic.addresses.some(({ cidr }) => familyOf(cidr) === 6)
  const managerRoutes = isMissing ? [linkLocalRouteIn(nic.table, managerMetric)] : []
  const rendered = filesFor(backend, nic, paths, observed)
  const files = { ...Object.fromEntries(scope.files.map(path => [path, undefined])), ...rendered }
  return {
    name: nic.name,
    mtu: nic.mtu ?? now.mtu,
    up: true,
    addresses: [
      ...foreign,
      ...nic.addresses.map(address => (isLeased ? address : equivalentAddress(address, nic, now.addresses))),
    ],
    routes: [...nic.routes.map(route => equivalentRoute(route, now.routes, byManager)), ...managerRoutes],
    rules: nic.rules.map(rule => equivalentRule(rule, now.rules)),
    nft: {},
    altnames: altnamesOf(nic, now, observed),
    sysctls: { ...nic.sysctls, ...restoredSysctls(nic, owned, paths, observed) },
    manager: now.manager,
    files: { ...files, [recordPath(paths, nic.macAddress)]: { text: recordText(record), mode: 0o600, uid: 0, gid: 0 } },
  }
}

/** An altname that the kernel refused is not tried again before the next boot. */
function altnamesOf({ altname }: DesiredNic, now: NicState, { refusedAltnames }: Observed): string[] {
  if (altname === undefined) return []
  return now.altnames.includes(altname) || !refusedAltnames.includes(altname) ? [altname] : []
}

/** Sysctls that our last file set and that are no longer desired, with their former values. */
function restoredSysctls(
  nic: DesiredNic,
  owned: OwnedNic | undefined,
  paths: Paths,
  { files }: Observed,
): Record<string, string> {
  const former = owned?.record?.former?.sysctls
  const written = owned && files[sysctlFileOf(paths, owned.index)]?.text
  if (!former || written === undefined) return {}
  const isStale = (key: string) => nic.sysctls[key] === undefined && setsKey(written, interfaceName(owned.index), key)
  return Object.fromEntries(Object.entries(former).filter(([key]) => isStale(key)))
}

/**
 * NetworkManager keeps a NIC that has our profile, which it configures as the agent would, unless something other than files
 * has to change.
 */
export function changesTowards(now: NicState, target: NicState): Change[] {
  if (now.manager === 'ours') {
    const changes = changesBetween(now, target)
    if (changes.every(change => change.kind === 'file')) return changes
  }
  return changesBetween(now, { ...target, manager: 'none', sysctls: { ...target.sysctls, ...kernelLinkLocal(now) } })
}

/** The former state is known only at the first run, and not if the NIC already has a multinic name. */
function formerOf(now: NicState, owned: OwnedNic | undefined): Pick<NicRecord, 'former'> {
  if (owned?.record) return owned.record.former ? { former: owned.record.former } : {}
  if (owned || /^multinic[0-9]$/.test(now.name)) return {}
  return { former: formerState(now) }
}
