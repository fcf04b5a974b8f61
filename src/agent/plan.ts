/**
 * Decides what one run changes: what is asked and what is observed → units of changes, refusals, and NICs that are missing.
 *
 * Pure. Nothing to do is an empty list of units (G5).
 */
import { type Cidr, canonical, contains, overlaps, parseCidr, parseIp } from '../contract/address.ts'
import { type Interface, interfaceName, outsideItsCidr } from '../contract/interfaces.ts'
import { type Change, type RouteSpec, routeText } from './change.ts'
import type { BackendKind, Settings } from './config.ts'
import { altnameOf, priorityOf, type WantedNic, wantedNics } from './desired.ts'
import { type Backend, detectBackend } from './detect.ts'
import { changesBetween, type NicState, nicState, type Scope } from './nic-state.ts'
import { type Link, linksByMac, type Observed, protocolKernel, type RuleSeen } from './observed.ts'
import {
  allIds,
  filesOfId,
  type NicRecord,
  type OwnedNic,
  ownedNics,
  recordPath,
  recordText,
  sysctlFileOf,
} from './ownership.ts'
import type { Paths } from './paths.ts'
import { afterUnits } from './predict.ts'
import { carriesNode, type Ground, type Refusal, refuse } from './preflight.ts'
import { planRemovals } from './removal.ts'
import { joinGroups, parkNames } from './renames.ts'
import { setsKey } from './render/device.ts'
import { filesFor } from './render/files.ts'
import type { Unit } from './unit.ts'

export interface Question {
  interfaces: readonly Interface[]
  nodeAddresses: readonly string[]
  settings: Settings
  paths: Paths
  observed: Observed
  /** Interfaces that failed in this run already: they are not tried twice. */
  skip?: ReadonlySet<number>
}

export interface Plan {
  backend: Backend
  /** In the order of doing: removals first, they free names and tables. Only those with something to change. */
  units: Unit[]
  /** NICs that may be touched, with their devices. */
  accepted: { nic: WantedNic; link: Link }[]
  /** Why an interface is left as it is. */
  refused: Map<number, Refusal>
  missing: Interface[]
  /** Interfaces of ours that should go and cannot. */
  kept: { id: number; name: string; refusal: Refusal }[]
}

export function planRun(question: Question): Plan {
  const { settings, paths, observed, interfaces } = question
  const backend = detectBackend(observed, paths, settings)
  const owned = ownedNics(observed, paths)
  const refused = new Map<number, Refusal>()
  const missing: Interface[] = []
  const present: { wish: Interface; link: Link }[] = []

  const ground = groundOf(question, owned)
  for (const wish of interfaces) {
    if (question.skip?.has(wish.index)) continue
    const [link, ...others] = linksByMac(observed.links, wish.macAddress)
    if (!link) missing.push(wish)
    else {
      const refusal =
        ambiguous(wish, [link, ...others]) ??
        outside(wish) ??
        carriesNode(
          link,
          ground,
          owned.find(entry => entry.mac === wish.macAddress),
        )
      if (refusal) refused.set(wish.index, refusal)
      else present.push({ wish, link })
    }
  }
  if (backend.kind === 'unknown' && present.length > 0)
    for (const { wish } of present)
      refused.set(wish.index, { reason: 'BackendUnknown', message: backend.because.join(', ') })

  const ours = new Set([
    ...present.map(({ link }) => link.ifindex),
    ...ownedDevices(observed, owned, refused, interfaces),
  ])
  const removals = planRemovals({ ...question, owned, ground: { ...ground, ours } })
  const then = afterUnits(observed, removals.units)
  const reserved = reservedNetworks(question, ours)
  const nicsOf = (list: typeof present) =>
    wantedNics(
      list.map(({ wish }) => wish),
      settings,
      reserved,
    )
  const all = nicsOf(present)
  const touchable = accept(present, all, { ...ground, observed: then, ours }, owned, refused)
  // One that is refused claims no network: the next one in it may.
  const wanted = touchable.length === present.length ? all : nicsOf(touchable)
  const accepted = wanted.flatMap(nic => {
    const link = touchable.find(({ wish }) => wish.index === nic.id)?.link
    return link ? [{ nic, link }] : []
  })

  const units = backend.kind === 'unknown' ? [] : applyUnits(accepted, { question, owned, then, backend: backend.kind })
  return {
    backend,
    units: [...removals.units, ...units].filter(unit => unit.changes.length > 0),
    accepted,
    refused,
    missing,
    kept: removals.kept,
  }
}

function groundOf({ observed, settings, paths, nodeAddresses }: Question, owned: readonly OwnedNic[]): Ground {
  const tables = new Set([
    ...allIds.map(id => settings.tableBase + id),
    ...owned.flatMap(({ record }) => record?.table ?? []),
  ])
  const files = new Set(allIds.flatMap(id => filesOfId(paths, id)))
  const known = nodeAddresses.map(text => canonical(text) ?? text)
  return { observed, settings, paths, nodeAddresses: known, ours: new Set(), tables, files }
}

/** Devices that we configured before, without those that turned out to carry the node. */
function ownedDevices(
  observed: Observed,
  owned: readonly OwnedNic[],
  refused: ReadonlyMap<number, Refusal>,
  interfaces: readonly Interface[],
): number[] {
  const untouchable = new Set(interfaces.filter(wish => refused.has(wish.index)).map(wish => wish.macAddress))
  return owned
    .filter(({ mac }) => !untouchable.has(mac))
    .flatMap(({ mac }) => linksByMac(observed.links, mac).map(link => link.ifindex))
}

function ambiguous(wish: Interface, links: readonly Link[]): Refusal | undefined {
  if (links.length === 1) return undefined
  const names = links.map(link => link.name).join(' and ')
  return { reason: 'NicAmbiguous', message: `${names} both have ${wish.macAddress}` }
}

function outside(wish: Interface): Refusal | undefined {
  const message = outsideItsCidr(wish)
  return message === undefined ? undefined : { reason: 'AddressOutsideCidr', message }
}

/** Runs the guards, then takes out those whose name nobody will free; each one taken out may hold another one's name. */
function accept(
  present: readonly { wish: Interface; link: Link }[],
  wanted: readonly WantedNic[],
  ground: Ground,
  owned: readonly OwnedNic[],
  refused: Map<number, Refusal>,
): { wish: Interface; link: Link }[] {
  let touchable = present.filter(({ wish, link }) => {
    const nic = wanted.find(entry => entry.id === wish.index)
    const refusal =
      nic &&
      refuse(
        nic,
        link,
        ground,
        owned.find(entry => entry.mac === wish.macAddress),
      )
    if (refusal) refused.set(wish.index, refusal)
    return nic !== undefined && !refused.has(wish.index)
  })
  for (;;) {
    const stuck = touchable.flatMap(({ wish, link }) => {
      const holder = ground.observed.links.find(
        entry =>
          (entry.name === wish.name || entry.altnames.includes(wish.name)) &&
          entry.ifindex !== link.ifindex &&
          !touchable.some(other => other.link.ifindex === entry.ifindex),
      )
      return holder ? [{ wish, holder }] : []
    })
    for (const { wish, holder } of stuck)
      refused.set(wish.index, {
        reason: 'InterfaceNameInUse',
        message: `${wish.name} is the name of a device with ${holder.mac}`,
      })
    if (stuck.length === 0) return touchable
    touchable = touchable.filter(({ wish }) => !refused.has(wish.index))
  }
}

/** A rule `to` such a network would take the node's own traffic off its way. */
function reservedNetworks(
  { observed, nodeAddresses, settings }: Question,
  ours: ReadonlySet<number>,
): (network: Cidr) => boolean {
  const networks = observed.addresses
    .filter(({ ifindex, linkLocal }) => !ours.has(ifindex) && !linkLocal)
    .flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  const destinations = observed.routes
    .filter(route => route.type === 1 && !route.devices.some(device => ours.has(device)))
    .flatMap(({ destination }) => (destination === 'default' ? [] : (parseCidr(destination) ?? [])))
  const hosts = [...nodeAddresses, settings.apiServer ?? ''].flatMap(text => parseIp(text) ?? [])
  return network =>
    networks.some(other => other.family === network.family && overlaps(network, other)) ||
    destinations.some(other => other.prefix >= network.prefix && contains(network, other.address)) ||
    hosts.some(ip => contains(network, ip))
}

interface ApplyGround {
  question: Question
  owned: readonly OwnedNic[]
  /** The node as the removals leave it. */
  then: Observed
  backend: BackendKind
}

function applyUnits(accepted: readonly { nic: WantedNic; link: Link }[], ground: ApplyGround): Unit[] {
  const taken = new Set(accepted.map(({ nic }) => nic.table))
  const ids = new Set(accepted.map(({ nic }) => nic.id))
  const ownerOf = (nic: WantedNic) => ground.owned.find(entry => entry.mac === nic.mac)
  // Only a NIC that leaves a number or a table can leave something to the next one.
  const moves = accepted.some(({ nic }) => {
    const owner = ownerOf(nic)
    return owner !== undefined && (owner.id !== nic.id || owner.record?.table !== nic.table)
  })
  const units: Unit[] = []
  let before = ground.then
  for (const { nic, link } of accepted) {
    const current = before.links.find(entry => entry.ifindex === link.ifindex) ?? link
    const owner = ownerOf(nic)
    const scope = scopeOf(nic, owner, ground.question.paths, taken, ids)
    const now = nicState(before, current, scope)
    const target = targetOf(nic, now, scope, owner, ground)
    const unit: Unit = {
      purpose: 'apply',
      id: nic.id,
      name: nic.name,
      mac: nic.mac,
      ifindex: link.ifindex,
      group: nic.name,
      changes: changesTowards(now, target),
    }
    units.push(unit)
    if (moves) before = afterUnits(before, [unit])
  }
  return joinGroups(parkNames(units))
}

function scopeOf(
  nic: WantedNic,
  owner: OwnedNic | undefined,
  paths: Paths,
  taken: ReadonlySet<number>,
  ids: ReadonlySet<number>,
): Scope {
  const old = owner?.record?.table
  const stale = old !== undefined && old !== nic.table && !taken.has(old) ? old : undefined
  const hosts = new Set(nic.rules.flatMap(rule => rule.from ?? []))
  const oldId = owner !== undefined && owner.id !== nic.id && !ids.has(owner.id) ? owner.id : undefined
  return {
    tables: new Set([nic.table, ...(old === undefined ? [] : [old])]),
    // The Go implementation gives no priority to its rules: they are known by our address and our table.
    rule: rule =>
      inBand(rule, nic.table) ||
      (stale !== undefined && inBand(rule, stale)) ||
      (rule.table === nic.table && rule.from !== undefined && hosts.has(rule.from)),
    altnames: new Set([nic.altname, altnameOf(owner?.record?.portId)].filter(name => name !== undefined)),
    files: [
      ...filesOfId(paths, nic.id),
      ...(oldId === undefined ? [] : filesOfId(paths, oldId)),
      recordPath(paths, nic.mac),
    ],
  }
}

function inBand(rule: RuleSeen, table: number): boolean {
  return rule.table === table && rule.priority === priorityOf(table)
}

function targetOf(
  nic: WantedNic,
  now: NicState,
  scope: Scope,
  owner: OwnedNic | undefined,
  { question: { paths, observed }, backend }: ApplyGround,
): NicState {
  const wanted = new Set(nic.addresses.map(address => address.cidr))
  const old = new Set(owner?.record?.addresses ?? [])
  const foreign = now.addresses.filter(({ cidr }) => !wanted.has(cidr) && !old.has(cidr))
  const record: NicRecord = {
    version: 1,
    id: nic.id,
    mac: nic.mac,
    table: nic.table,
    ...(nic.portId === undefined ? {} : { portId: nic.portId }),
    addresses: nic.addresses.map(address => address.cidr),
    ...formerOf(now, owner),
  }
  const rendered = filesFor(backend, nic, paths, observed.directories)
  const files = { ...Object.fromEntries(scope.files.map(path => [path, undefined])), ...rendered }
  return {
    name: nic.name,
    mtu: nic.mtu ?? now.mtu,
    up: true,
    addresses: [...foreign, ...nic.addresses],
    routes: nic.routes.map(route => asPresent(route, now.routes)),
    rules: nic.rules,
    altnames: altnamesOf(nic, now, observed),
    sysctls: { ...nic.sysctls, ...givenBack(nic, owner, paths, observed) },
    // What it does with our own profile is what we would do.
    manager: now.manager === 'ours' ? 'ours' : 'none',
    files: { ...files, [recordPath(paths, nic.mac)]: { text: recordText(record), mode: 0o600, uid: 0, gid: 0 } },
  }
}

/** One that the kernel refused is not asked for again before the next boot. */
function altnamesOf({ altname }: WantedNic, now: NicState, { refusedAltnames }: Observed): string[] {
  if (altname === undefined) return []
  return now.altnames.includes(altname) || !refusedAltnames.includes(altname) ? [altname] : []
}

/** Kernel settings that our last file made and that are no longer asked for: they go back to what they were before us. */
function givenBack(
  nic: WantedNic,
  owner: OwnedNic | undefined,
  paths: Paths,
  { files }: Observed,
): Record<string, string> {
  const former = owner?.record?.former?.sysctls
  const written = owner && files[sysctlFileOf(paths, owner.id)]?.text
  if (!former || written === undefined) return {}
  const ours = (key: string) => nic.sysctls[key] === undefined && setsKey(written, interfaceName(owner.id), key)
  return Object.fromEntries(Object.entries(former).filter(([key]) => ours(key)))
}

/** A NIC that runs our profile in NetworkManager is taken out of its hands only when something has to change. */
function changesTowards(now: NicState, target: NicState): Change[] {
  const changes = changesBetween(now, target)
  return now.manager === 'ours' && changes.some(change => change.kind !== 'file')
    ? changesBetween(now, { ...target, manager: 'none' })
    : changes
}

/** A connected route that NetworkManager or the kernel made is as good as ours. */
function asPresent(wanted: RouteSpec, present: readonly RouteSpec[]): RouteSpec {
  const twin = routeText({ ...wanted, protocol: protocolKernel })
  return present.find(route => routeText(route) === twin) ?? wanted
}

/** What was there before us is known only the first time; a NIC that already has one of our names tells nothing. */
function formerOf(now: NicState, owner: OwnedNic | undefined): Pick<NicRecord, 'former'> {
  if (owner?.record) return owner.record.former ? { former: owner.record.former } : {}
  if (owner || /^multinic[0-9]$/.test(now.name)) return {}
  const { name, mtu, up, sysctls, manager } = now
  return { former: { name, mtu, up, sysctls, ...(manager === 'none' ? {} : { managed: true }) } }
}
