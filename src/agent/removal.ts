/**
 * Decides what of ours must go: NICs that are no longer wanted, and what is left of NICs that are gone.
 *
 * Pure. A NIC that goes loses our rules, routes, addresses, settings and files, and gets its former name and state back.
 */
import type { Interface } from '../contract/interfaces.ts'
import { interfaceName } from '../contract/interfaces.ts'
import type { Change } from './change.ts'
import type { Settings } from './config.ts'
import { altnameOf, priorityOf } from './desired.ts'
import { changesBetween, fileChanges, type NicState, nicState, nodeState, type Scope } from './nic-state.ts'
import { type Link, linksByMac, type Observed, protocolStatic, type RuleSeen } from './observed.ts'
import { allIds, filesOfId, isForeign, macIn, type OwnedNic, recordPath } from './ownership.ts'
import type { Paths } from './paths.ts'
import { carriesNode, foreignOwner, type Ground, type Refusal } from './preflight.ts'
import type { Unit } from './unit.ts'

export interface RemovalQuestion {
  interfaces: readonly Interface[]
  settings: Settings
  paths: Paths
  observed: Observed
  owned: readonly OwnedNic[]
  ground: Ground
}

export interface Removals {
  units: Unit[]
  kept: { id: number; name: string; refusal: Refusal }[]
}

export function planRemovals(question: RemovalQuestion): Removals {
  const { interfaces, observed, owned, ground } = question
  const wantedMacs = new Set(interfaces.map(nic => nic.macAddress))
  const goes = owned.filter(({ mac }) => !wantedMacs.has(mac))
  const units: Unit[] = []
  const kept: Removals['kept'] = []
  for (const nic of goes) {
    const name = interfaceName(nic.id)
    const [link] = linksByMac(observed.links, nic.mac)
    const refusal = (link && carriesNode(link, ground, nic)) ?? foreignAt(nic.id, question)
    if (refusal) kept.push({ id: nic.id, name, refusal })
    else units.push(link ? removeNic(nic, link, question) : removeTraces(nic.id, nic.mac, question))
  }
  for (const id of allIds)
    if (!interfaces.some(nic => nic.index === id) && !owned.some(nic => nic.id === id))
      units.push(removeTraces(id, '', question))
  return { units: units.filter(unit => unit.changes.length > 0), kept }
}

/** A file that stays would bring the NIC back at the next boot: a person has to say whose it is. */
function foreignAt(id: number, { observed, paths }: RemovalQuestion): Refusal | undefined {
  for (const path of filesOfId(paths, id)) {
    const file = observed.files[path]
    if (file && isForeign(file)) return foreignOwner(path, file)
  }
  return undefined
}

function removeNic(nic: OwnedNic, link: Link, question: RemovalQuestion): Unit {
  const { observed } = question
  const scope = scopeOf(nic.id, nic.mac, question)
  const now = nicState(observed, link, scope)
  const former = nic.record?.former
  const ours = new Set(nic.record?.addresses ?? [])
  const addresses = now.addresses.filter(({ cidr }) => !ours.has(cidr))
  const target: NicState = {
    name: formerName(link, nic, observed),
    mtu: former?.mtu ?? now.mtu,
    // Whoever else put an address here still uses the link.
    up: now.up && (addresses.length > 0 || (former?.up ?? false)),
    addresses,
    routes: [],
    rules: [],
    altnames: [],
    sysctls: former?.sysctls ?? {},
    manager: 'none',
    files: absent(scope.files),
  }
  const handBack: Change[] = former?.managed ? [{ kind: 'manager', from: 'none', to: 'other' }] : []
  return { ...unitOf(nic.id, nic.mac), ifindex: link.ifindex, changes: [...changesBetween(now, target), ...handBack] }
}

/** The device is gone, and with it routes and addresses; rules and files stay until somebody takes them away. */
function removeTraces(id: number, mac: string, question: RemovalQuestion): Unit {
  const scope = scopeOf(id, mac, question)
  const now = nodeState(question.observed, scope)
  return {
    ...unitOf(id, mac),
    changes: [
      ...now.rules.map(rule => ({ kind: 'rule', op: 'remove', rule }) as const),
      ...fileChanges(now, { files: absent(scope.files) }),
    ],
  }
}

function scopeOf(id: number, mac: string, question: RemovalQuestion): Scope {
  const { interfaces, observed, owned, paths, settings } = question
  const record = owned.find(nic => nic.mac === mac)?.record
  const table = record?.table ?? settings.tableBase + id
  const claimed = interfaces.some(nic => nic.index === id)
  const files = filesOfId(paths, id).filter(path => {
    const file = observed.files[path]
    if (file && isForeign(file)) return false
    const about = macIn(file?.text)
    return about === undefined ? !claimed : about === mac || mac === ''
  })
  return {
    tables: new Set([table]),
    rule: rule => isOurRule(rule, table),
    altnames: new Set([altnameOf(record?.portId)].filter(name => name !== undefined)),
    files: mac === '' ? files : [...files, recordPath(paths, mac)],
  }
}

/** Our band, our table, one host or one network: the shape of the rules that we write. */
function isOurRule(rule: RuleSeen, table: number): boolean {
  return (
    rule.table === table &&
    rule.priority === priorityOf(table) &&
    rule.protocol === protocolStatic &&
    (rule.from === undefined) !== (rule.to === undefined)
  )
}

/** The name from before us, where it is known and free; else one that says nothing, so that ours is free again. */
function formerName(link: Link, nic: OwnedNic, observed: Observed): string {
  if (!/^multinic[0-9]$/.test(link.name)) return link.name
  const former = nic.record?.former?.name
  const free = (name: string) =>
    !observed.links.some(
      other => other.ifindex !== link.ifindex && (other.name === name || other.altnames.includes(name)),
    )
  if (former && /^[A-Za-z0-9._-]{1,15}$/.test(former) && free(former) && !link.altnames.includes(former)) return former
  return `nic${link.ifindex}`
}

function absent(paths: readonly string[]): Record<string, undefined> {
  return Object.fromEntries(paths.map(path => [path, undefined]))
}

function unitOf(id: number, mac: string): Omit<Unit, 'changes'> {
  const name = interfaceName(id)
  return { purpose: 'remove', id, name, mac, group: `remove ${name} ${mac}` }
}
