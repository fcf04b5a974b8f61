/**
 * What an entry of the history changed, NIC by NIC and field by field. Pure.
 */
import { nameFields } from '../../src/contract/interface-fields.ts'
import type { HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import { requestedFields } from './fields.ts'
import { causeOf, type Nic, nodeOf, type Severity, worstOf } from './nodes.ts'

export interface Change {
  op: 'added' | 'removed' | 'changed'
  nic: string
  severity: Severity
  fields: { field: string; before: string; after: string }[]
}

const comparedFields: readonly (readonly [field: string, textOf: (nic: Nic) => string])[] = [
  ['state', nic => nic.severity],
  ['reason', nic => nic.reason],
  ...[...requestedFields].map(([field, { requested }]) => [field, requested] as const),
  ['observed mtu', nic => nic.observed?.mtu?.toString() ?? ''],
  ['link', nic => nic.observed?.link ?? ''],
]

export function changesOf({ before, after }: Pick<HistoryEntry, 'before' | 'after'>): Change[] {
  return changesBetween(before, after)
}

export function changesBetween(before: InventoryRecord | undefined, after: InventoryRecord | undefined): Change[] {
  const [oldNics, newNics] = [nicsByName(before), nicsByName(after)]
  const names = [...new Set([...oldNics.keys(), ...newNics.keys()])].sort()
  return names.flatMap((name): Change[] => {
    const [oldNic, newNic] = [oldNics.get(name), newNics.get(name)]
    const fields = comparedFields
      .map(([field, textOf]) => ({
        field,
        before: oldNic ? textOf(oldNic) : '',
        after: newNic ? textOf(newNic) : '',
      }))
      .filter(each => each.before !== each.after)
    if (!oldNic && newNic) return [{ op: 'added', nic: name, severity: newNic.severity, fields }]
    if (oldNic && !newNic) return [{ op: 'removed', nic: name, severity: 'removing', fields }]
    return newNic && fields.length > 0 ? [{ op: 'changed', nic: name, severity: newNic.severity, fields }] : []
  })
}

function nicsByName(record: InventoryRecord | undefined): Map<string, Nic> {
  return new Map(record ? nodeOf(record, []).nics.map(nic => [nic.name, nic]) : [])
}

export type Cause = ReturnType<typeof causeOf>

/** NICs with the same change of state, as one line. */
export interface Transition {
  nics: string
  before: Severity
  after: Severity
  reason: string
}

export function transitionsOf(changes: readonly Change[]): Transition[] {
  const transitions = changes.flatMap(({ op, nic, fields }) => {
    const state = op === 'changed' ? fields.find(({ field }) => field === 'state') : undefined
    const reason = fields.find(({ field }) => field === 'reason')?.after ?? ''
    return state ? [{ nic, before: state.before as Severity, after: state.after as Severity, reason }] : []
  })
  return [...Map.groupBy(transitions, ({ before, after, reason }) => `${before} ${after} ${reason}`).values()].flatMap(
    group => {
      const [first] = group
      return first ? [{ ...first, nics: nicRange(group.map(({ nic }) => nic)) }] : []
    },
  )
}

/** The changed fields other than state and reason. The first observation of a field, or its first name, is not a change. */
export function fieldChangesOf({ op, fields }: Change): Change['fields'] {
  if (op !== 'changed') return []
  const observedFields = new Set(['observed mtu', 'link', ...Object.keys(nameFields)])
  return fields.filter(
    ({ field, before }) => field !== 'state' && field !== 'reason' && !(observedFields.has(field) && before === ''),
  )
}

/** multinic0, multinic1, multinic2, multinic5 → multinic0–2, 5 */
export function nicRange(names: readonly string[]): string {
  const indexes = names.map(name => Number(/^multinic(\d)$/.exec(name)?.[1])).sort((a, b) => a - b)
  if (indexes.some(Number.isNaN)) return names.join(', ')
  const runs: [from: number, to: number][] = []
  for (const index of indexes) {
    const last = runs.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else runs.push([index, index])
  }
  const texts = runs.map(([from, to]) =>
    from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`,
  )
  return texts.length === 0 ? '' : `multinic${texts.join(', ')}`
}

/** The worst that the entry changed, and only the NICs that are so now. */
export function headlineOf(entry: Pick<HistoryEntry, 'what' | 'before' | 'after'>): {
  nics: string
  severity: Severity
} {
  const changes = changesOf(entry)
  const severity = worstOf(changes) ?? entrySeverity(entry)
  return { severity, nics: nicRange(changes.filter(change => change.severity === severity).map(({ nic }) => nic)) }
}

/** Why the NICs that a change of state made worst are as they are. Undefined if they are as requested. */
export function causeOfEntry(entry: Pick<HistoryEntry, 'what' | 'before' | 'after'>): Cause | undefined {
  const { what, after } = entry
  if (what !== 'status' || !after) return undefined
  const changed = new Set(changesOf(entry).map(({ nic }) => nic))
  const { nics } = nodeOf(after, [])
  const candidates = nics.filter(nic => nic.severity !== 'configured' && (changed.size === 0 || changed.has(nic.name)))
  const worst = worstOf(candidates)
  const cause = candidates
    .filter(({ severity }) => severity === worst)
    .map(causeOf)
    .find(({ reason }) => reason !== '')
  return cause
}

/** The worst severity of the node after the entry. */
export function entrySeverity({ what, after }: Pick<HistoryEntry, 'what' | 'after'>): Severity {
  if (what === 'removed' || !after) return 'removing'
  return nodeOf(after, []).worst ?? 'removing'
}
