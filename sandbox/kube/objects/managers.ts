/**
 * Field managers: who wrote which fields, and server-side apply on top of it.
 */
import { ApiFailure } from '../failures.ts'
import { type ApiObject, isRecord, type ManagedFields, without } from '../json.ts'
import type { Schema } from '../kinds/schema.ts'
import {
  compare,
  difference,
  type FieldSet,
  fieldsOf,
  intersection,
  isEmpty,
  merged,
  onlyUnder,
  parseSet,
  pathsOf,
  printSet,
  prunedBy,
  sameSet,
  union,
  withoutPaths,
} from './fields.ts'

/** Somebody who writes. */
export interface Writer {
  manager: string
  apiVersion: string
  subresource: string | undefined
  /** Whether status is written by a door of its own. */
  statusApart: boolean
  time: string
}

interface Entry {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  subresource: string | undefined
  time: string
  set: FieldSet
}

const nobodys = ['name', 'namespace', 'uid', 'creationTimestamp', 'resourceVersion', 'generation', 'managedFields']
const ignored = [
  ['f:apiVersion'],
  ['f:kind'],
  ...[...nobodys, 'generateName', 'selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds'].map(name => [
    'f:metadata',
    `f:${name}`,
  ]),
]

/** The managers after a write that is no apply. */
export function managersAfterUpdate(
  old: ApiObject | undefined,
  next: ApiObject,
  schema: Schema | undefined,
  writer: Writer,
): ManagedFields[] {
  const given = next.metadata.managedFields ?? old?.metadata.managedFields
  const entries = parseEntries(given)
  const { changed, removed } = compare(comparable(old), comparable(next), schema)
  const [mine, others] = parted(entries, 'Update', writer)
  const set = scoped(owned(union(difference(mine?.set ?? parseSet({}), removed), changed)), writer)
  const rest = others.map(entry => ({ ...entry, set: difference(difference(entry.set, changed), removed) }))
  return printEntries([...rest, renewed(mine, set, 'Update', writer)])
}

export interface Applied {
  object: ApiObject
  managedFields: ManagedFields[]
}

/** Lays what somebody applies over the live object. Throws the 409 when a field belongs to somebody else. */
export function applied(
  live: ApiObject,
  config: ApiObject,
  schema: Schema | undefined,
  writer: Writer,
  force: boolean,
): Applied {
  const [mine, others] = parted(entriesOf(live, schema), 'Apply', writer)
  const set = scoped(owned(fieldsOf(comparable(config), schema)), writer)
  const everybody = others.reduce((sum, entry) => union(sum, entry.set), set)
  const before = comparable(live)
  const laid = merged(before, comparable(config), schema)
  const after = prunedBy(laid, schema, mine?.set ?? parseSet({}), everybody)
  const { changed, removed } = compare(before, after, schema)
  const conflicts = others
    .map(entry => ({ entry, set: intersection(entry.set, changed) }))
    .filter(one => !isEmpty(one.set))
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts)
  const rest = others.map(entry => ({ ...entry, set: difference(difference(entry.set, changed), removed) }))
  const managedFields = printEntries([...rest, renewed(mine, set, 'Apply', writer)])
  const fields = isRecord(after) ? after : {}
  const metadata = { ...live.metadata, ...(isRecord(fields['metadata']) ? fields['metadata'] : {}) }
  for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    if (!isRecord(fields['metadata']) || fields['metadata'][name] === undefined) delete metadata[name]
  }
  return {
    object: { ...fields, apiVersion: config.apiVersion, kind: config.kind, metadata },
    managedFields,
  }
}

/** A writer owns only what its door lets it write. */
function scoped(set: FieldSet, { subresource, statusApart }: Writer): FieldSet {
  if (subresource) return onlyUnder(set, [`f:${subresource}`])
  return statusApart ? withoutPaths(set, [['f:status']]) : set
}

/** What was there before anybody was recorded belongs to somebody all the same. */
function entriesOf(live: ApiObject, schema: Schema | undefined): Entry[] {
  const { managedFields, uid, creationTimestamp: time = '' } = live.metadata
  if (managedFields?.length || !uid) return parseEntries(managedFields)
  const set = owned(fieldsOf(comparable(live), schema))
  const { apiVersion } = live
  return [{ manager: 'before-first-apply', operation: 'Update', apiVersion, subresource: undefined, time, set }]
}

/** An object without what nobody manages. */
function comparable(object: ApiObject | undefined): Record<string, unknown> {
  if (!object) return { metadata: {} }
  const metadata = without(object.metadata, ...nobodys, 'generateName', 'selfLink')
  return { ...without(object, 'apiVersion', 'kind'), metadata }
}

function owned(set: FieldSet): FieldSet {
  const rest = withoutPaths(set, ignored)
  const metadata = rest.children.get('f:metadata')
  if (metadata?.member) {
    if (metadata.children.size === 0) rest.children.delete('f:metadata')
    else rest.children.set('f:metadata', { ...metadata, member: false })
  }
  return { ...rest, member: false }
}

function parted(entries: Entry[], operation: Entry['operation'], writer: Writer): [Entry | undefined, Entry[]] {
  const isMine = (entry: Entry) =>
    entry.operation === operation &&
    entry.manager === writer.manager &&
    entry.subresource === writer.subresource &&
    (operation === 'Apply' || entry.apiVersion === writer.apiVersion)
  return [entries.find(isMine), entries.filter(entry => !isMine(entry))]
}

/** The time moves only when the set does: a write that changes nothing must change nothing. */
function renewed(mine: Entry | undefined, set: FieldSet, operation: Entry['operation'], writer: Writer): Entry {
  if (mine && mine.apiVersion === writer.apiVersion && sameSet(mine.set, set)) return mine
  const { manager, apiVersion, subresource, time } = writer
  return { manager, operation, apiVersion, subresource, time, set }
}

function parseEntries(managedFields: readonly ManagedFields[] | undefined): Entry[] {
  return (managedFields ?? [])
    .filter(entry => isRecord(entry) && isRecord(entry.fieldsV1))
    .map(({ manager, operation, apiVersion, subresource, time, fieldsV1 }) => ({
      manager,
      operation,
      apiVersion,
      subresource,
      time,
      set: parseSet(fieldsV1),
    }))
}

function printEntries(entries: readonly Entry[]): ManagedFields[] {
  return entries
    .filter(entry => !isEmpty(entry.set))
    .sort((a, b) => compareTexts(place(a), place(b)))
    .map(({ manager, operation, apiVersion, time, set, subresource }) => ({
      manager,
      operation,
      apiVersion,
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: printSet(set),
      ...(subresource && { subresource }),
    }))
}

/** Appliers first, then by age; two entries never share a place, so a write that changes nothing keeps the order. */
function place({ operation, time, manager, apiVersion, subresource = '' }: Entry): string[] {
  return [operation, time, manager, apiVersion, subresource]
}

function compareTexts(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((text, index) => text !== b[index])
  return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}

function applyConflict(conflicts: { entry: Entry; set: FieldSet }[]): ApiFailure {
  const named = conflicts.map(({ entry, set }) => ({ who: printManager(entry), paths: pathsOf(set) }))
  const count = named.reduce((sum, { paths }) => sum + paths.length, 0)
  const causes = named.flatMap(({ who, paths }) =>
    paths.map(field => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  )
  const what =
    count === 1
      ? `1 conflict: conflict with ${named[0]?.who}: ${named[0]?.paths[0]}`
      : `${count} conflicts: ${named
          .flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map(path => `- ${path}`)])
          .join('\n')}`
  return new ApiFailure(409, 'Conflict', `Apply failed with ${what}`, { causes })
}

function printManager(entry: Entry): string {
  const name = JSON.stringify(entry.manager) + (entry.subresource ? ` with subresource "${entry.subresource}"` : '')
  return entry.operation === 'Update' ? `${name} using ${entry.apiVersion}` : name
}
