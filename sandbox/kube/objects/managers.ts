/**
 * Field managers: ownership of fields, and server-side apply.
 */
import { ApiError } from '../api-errors.ts'
import { type ApiObject, isRecord, type ManagedFields, without } from '../json.ts'
import type { Schema } from '../kinds/schema.ts'
import {
  compare,
  difference,
  type FieldSet,
  fieldsOf,
  intersection,
  isEmpty,
  mergeApplied,
  onlyUnder,
  parseSet,
  pathsOf,
  printSet,
  pruneUnowned,
  sameSet,
  union,
  withoutPaths,
} from './fields.ts'

/** The author of a write. */
export interface Writer {
  manager: string
  apiVersion: string
  subresource: string | undefined
  /** Whether the kind has a status subresource. */
  hasStatusSubresource: boolean
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

const serverFields = ['name', 'namespace', 'uid', 'creationTimestamp', 'resourceVersion', 'generation', 'managedFields']
const unownedPaths = [
  ['f:apiVersion'],
  ['f:kind'],
  ...[...serverFields, 'generateName', 'selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds'].map(name => [
    'f:metadata',
    `f:${name}`,
  ]),
]

/** The managers after a create, update or patch. */
export function managersAfterUpdate(
  old: ApiObject | undefined,
  next: ApiObject,
  schema: Schema | undefined,
  writer: Writer,
): ManagedFields[] {
  const given = next.metadata.managedFields ?? old?.metadata.managedFields
  const entries = parseEntries(given)
  const { changed, removed } = compare(comparable(old), comparable(next), schema)
  const [mine, others] = splitEntries(entries, 'Update', writer)
  const set = withinScope(owned(union(difference(mine?.set ?? parseSet({}), removed), changed)), writer)
  const rest = others.map(entry => ({ ...entry, set: difference(difference(entry.set, changed), removed) }))
  return printEntries([...rest, renewed(mine, set, 'Update', writer)])
}

export interface Applied {
  object: ApiObject
  managedFields: ManagedFields[]
}

/** Merges an applied configuration into the live object. Throws 409 if another manager owns a changed field. */
export function applyConfiguration(
  live: ApiObject,
  config: ApiObject,
  schema: Schema | undefined,
  writer: Writer,
  force: boolean,
): Applied {
  const [mine, others] = splitEntries(entriesOf(live, schema), 'Apply', writer)
  const set = withinScope(owned(fieldsOf(comparable(config), schema)), writer)
  const everybody = others.reduce((sum, entry) => union(sum, entry.set), set)
  const before = comparable(live)
  const laid = mergeApplied(before, comparable(config), schema)
  const after = pruneUnowned(laid, schema, mine?.set ?? parseSet({}), everybody)
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

/** A writer owns only fields of the endpoint that it writes to. */
function withinScope(set: FieldSet, { subresource, hasStatusSubresource }: Writer): FieldSet {
  if (subresource) return onlyUnder(set, [`f:${subresource}`])
  return hasStatusSubresource ? withoutPaths(set, [['f:status']]) : set
}

/** An object without managers gets one for the fields that it already has. */
function entriesOf(live: ApiObject, schema: Schema | undefined): Entry[] {
  const { managedFields, uid, creationTimestamp: time = '' } = live.metadata
  if (managedFields?.length || !uid) return parseEntries(managedFields)
  const set = owned(fieldsOf(comparable(live), schema))
  const { apiVersion } = live
  return [{ manager: 'before-first-apply', operation: 'Update', apiVersion, subresource: undefined, time, set }]
}

/** The object without fields that have no manager. */
function comparable(object: ApiObject | undefined): Record<string, unknown> {
  if (!object) return { metadata: {} }
  const metadata = without(object.metadata, ...serverFields, 'generateName', 'selfLink')
  return { ...without(object, 'apiVersion', 'kind'), metadata }
}

function owned(set: FieldSet): FieldSet {
  const rest = withoutPaths(set, unownedPaths)
  const metadata = rest.children.get('f:metadata')
  if (metadata?.member) {
    if (metadata.children.size === 0) rest.children.delete('f:metadata')
    else rest.children.set('f:metadata', { ...metadata, member: false })
  }
  return { ...rest, member: false }
}

function splitEntries(entries: Entry[], operation: Entry['operation'], writer: Writer): [Entry | undefined, Entry[]] {
  const isMine = (entry: Entry) =>
    entry.operation === operation &&
    entry.manager === writer.manager &&
    entry.subresource === writer.subresource &&
    (operation === 'Apply' || entry.apiVersion === writer.apiVersion)
  return [entries.find(isMine), entries.filter(entry => !isMine(entry))]
}

/** The time changes only with the set, so that a write without changes has no effect. */
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
    .sort((a, b) => compareTexts(sortKey(a), sortKey(b)))
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

/** Apply entries first, then by age. The key is unique, so that a write without changes keeps the order. */
function sortKey({ operation, time, manager, apiVersion, subresource = '' }: Entry): string[] {
  return [operation, time, manager, apiVersion, subresource]
}

function compareTexts(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((text, index) => text !== b[index])
  return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}

function applyConflict(conflicts: { entry: Entry; set: FieldSet }[]): ApiError {
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
  return new ApiError(409, 'Conflict', `Apply failed with ${what}`, { causes })
}

function printManager(entry: Entry): string {
  const name = JSON.stringify(entry.manager) + (entry.subresource ? ` with subresource "${entry.subresource}"` : '')
  return entry.operation === 'Update' ? `${name} using ${entry.apiVersion}` : name
}
