/**
 * What one entry of the history changed, NIC by NIC and field by field. Pure.
 */
import type { HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import { type Look, type Nic, nodeOf } from './nodes.ts'

export interface Change {
  op: 'add' | 'del' | 'chg'
  nic: string
  look: Look
  fields: { field: string; before: string; after: string }[]
}

const shown: readonly [field: string, of: (nic: Nic) => string][] = [
  ['state', nic => nic.look],
  ['reason', nic => nic.reason],
  ['address', nic => nic.addresses.join(' ')],
  ['mac', nic => nic.mac],
  ['mtu', nic => (nic.mtu === undefined ? '' : String(nic.mtu))],
  ['gateway', nic => nic.gateway],
  ['routes', nic => nic.routes.map(({ destination, nexthop }) => `${destination} via ${nexthop}`).join(', ')],
  ['observed mtu', nic => (nic.observed?.mtu === undefined ? '' : String(nic.observed.mtu))],
  ['link', nic => nic.observed?.link ?? ''],
]

export function changesOf({ before, after }: Pick<HistoryEntry, 'before' | 'after'>): Change[] {
  return changesBetween(before, after)
}

export function changesBetween(before: InventoryRecord | undefined, after: InventoryRecord | undefined): Change[] {
  const [old, now] = [nicsOf(before), nicsOf(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])].sort()
  return names.flatMap((name): Change[] => {
    const [was, is] = [old.get(name), now.get(name)]
    const fields = shown
      .map(([field, of]) => ({ field, before: was ? of(was) : '', after: is ? of(is) : '' }))
      .filter(each => each.before !== each.after)
    if (!was && is) return [{ op: 'add', nic: name, look: is.look, fields }]
    if (was && !is) return [{ op: 'del', nic: name, look: 'rem', fields }]
    return is && fields.length > 0 ? [{ op: 'chg', nic: name, look: is.look, fields }] : []
  })
}

function nicsOf(record: InventoryRecord | undefined): Map<string, Nic> {
  return new Map(record ? nodeOf(record, []).nics.map(nic => [nic.name, nic]) : [])
}

/** NICs that went the same way: said once. */
export interface Turn {
  nics: string
  before: Look
  after: Look
  reason: string
}

export function turnsOf(changes: readonly Change[]): Turn[] {
  const turned = changes.flatMap(({ op, nic, fields }) => {
    const state = op === 'chg' ? fields.find(({ field }) => field === 'state') : undefined
    const reason = fields.find(({ field }) => field === 'reason')?.after ?? ''
    return state ? [{ nic, before: state.before as Look, after: state.after as Look, reason }] : []
  })
  return [...Map.groupBy(turned, ({ before, after, reason }) => `${before} ${after} ${reason}`).values()].flatMap(
    group => {
      const [first] = group
      return first ? [{ ...first, nics: nicRange(group.map(({ nic }) => nic)) }] : []
    },
  )
}

/** Fields that say more than the state: what was there before, and what is there instead. */
export function detailsOf({ op, fields }: Change): Change['fields'] {
  if (op !== 'chg') return []
  const reads = new Set(['observed mtu', 'link'])
  return fields.filter(
    ({ field, before }) => field !== 'state' && field !== 'reason' && !(reads.has(field) && before === ''),
  )
}

/** multinic0, multinic1, multinic2, multinic5 → multinic0–2, 5 */
export function nicRange(names: readonly string[]): string {
  const numbers = names.map(name => Number(/^multinic(\d)$/.exec(name)?.[1])).sort((a, b) => a - b)
  if (numbers.some(Number.isNaN)) return names.join(', ')
  const runs: [from: number, to: number][] = []
  for (const number of numbers) {
    const last = runs.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else runs.push([number, number])
  }
  const texts = runs.map(([from, to]) =>
    from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`,
  )
  return texts.length === 0 ? '' : `multinic${texts.join(', ')}`
}

/** The look of an entry as a whole: the worst of what it changed, or of what is there now. */
export function entryLook({ what, after }: Pick<HistoryEntry, 'what' | 'after'>): Look {
  if (what === 'removed' || !after) return 'rem'
  return nodeOf(after, []).worst ?? 'rem'
}

export interface Holding {
  providerId: string
  nodeName: string
  nic: string
  from: number
  /** Undefined while it lasts. */
  to: number | undefined
}

/** Who had this address, MAC or port, and when, from the histories of the nodes that ever had it. Oldest first. */
export function holdingsOf(value: string, entries: readonly HistoryEntry[]): Holding[] {
  const open = new Map<string, Holding>()
  const all: Holding[] = []
  for (const entry of entries.toSorted((a, b) => a.id - b.id)) {
    const record = entry.after ?? entry.before
    if (!record) continue
    const { providerId, nodeName } = record
    const had = [...open].filter(([, one]) => one.providerId === providerId && one.nodeName === nodeName)
    const has = entry.after ? nodeOf(entry.after, []).nics.filter(nic => holds(nic, value)) : []
    for (const [key, one] of had)
      if (!has.some(nic => nic.name === one.nic)) {
        one.to = Date.parse(entry.at)
        open.delete(key)
      }
    for (const { name } of has) {
      const key = `${providerId} ${nodeName} ${name}`
      if (open.has(key)) continue
      const holding = { providerId, nodeName, nic: name, from: Date.parse(entry.at), to: undefined }
      open.set(key, holding)
      all.push(holding)
    }
  }
  return all.sort((a, b) => a.from - b.from)
}

export function holdsAny(record: InventoryRecord, value: string): boolean {
  return nodeOf(record, []).nics.some(nic => holds(nic, value))
}

function holds(nic: Nic, value: string): boolean {
  const wanted = value.trim().toLowerCase()
  return nic.mac === wanted || nic.portId === wanted || nic.addresses.some(text => text.split('/')[0] === wanted)
}
