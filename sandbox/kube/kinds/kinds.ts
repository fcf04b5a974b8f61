/**
 * What kinds the API serves, and how each behaves: built-in ones as data, custom ones from their CRDs.
 */
import type { FieldError, Place } from '../failures.ts'
import type { ApiObject } from '../json.ts'
import type { Schema } from './schema.ts'

export interface Column {
  name: string
  type: string
  format?: string
  description?: string
  /** 0 is always shown, more only with `-o wide`. */
  priority?: number
  cell: (object: ApiObject, now: Date) => unknown
}

export interface KindVersion {
  name: string
  served: boolean
  schema: Schema | undefined
  /** Whether status is written on its own. */
  status: boolean
  columns: readonly Column[]
}

/** Where a kind differs from the plain rules. All of these get a copy that they may change. */
export interface Behaviour {
  /** Defaults, and what follows from other fields. */
  prepare?(object: ApiObject, old: ApiObject | undefined): void
  validate?(object: ApiObject, old: ApiObject | undefined): FieldError[]
  keepsStatusAtCreate?: boolean
  /** PUT without a resourceVersion is taken. */
  unconditionalUpdate?: boolean
  /** PUT of what is not there creates it. */
  createOnUpdate?: boolean
  /** Whether the object counts its generations. */
  generation?: boolean
  /** Seconds that a deletion waits for somebody else to end it; 0 removes at once. */
  grace?(object: ApiObject, asked: number | undefined): number
  /** Finalizers that a deletion puts on, for a controller of the server itself to take off. */
  finalizersAtDelete?: readonly string[]
  /** A deletion answers with the object, as older kinds do. */
  returnsDeleted?: boolean
  /** Names may be anything that fits in a path (RBAC). */
  freeNames?: boolean
}

export interface Kind extends Place {
  singular: string
  listKind: string
  shortNames: readonly string[]
  categories: readonly string[]
  namespaced: boolean
  custom: boolean
  /** The stored one is first. */
  versions: readonly KindVersion[]
  behaviour: Behaviour
  /** Fields that a CRD lets people select by. */
  selectableFields?: readonly string[]
}

export interface Kinds {
  all(): readonly Kind[]
  find(group: string, version: string, plural: string): { kind: Kind; version: KindVersion } | undefined
  add(kind: Kind): void
  remove(group: string, plural: string): void
}

export function createKinds(builtin: readonly Kind[]): Kinds {
  const kinds = new Map(builtin.map(kind => [kindId(kind), kind]))
  return {
    all: () => [...kinds.values()],
    find(group, version, plural) {
      const kind = kinds.get(`${group}/${plural}`)
      const found = kind?.versions.find(one => one.name === version && one.served)
      return kind && found && { kind, version: found }
    },
    add: kind => kinds.set(kindId(kind), kind),
    remove: (group, plural) => kinds.delete(`${group}/${plural}`),
  }
}

/** The name of a kind's drawer in the store. */
export function kindId(kind: { group: string; plural: string }): string {
  return `${kind.group}/${kind.plural}`
}

export function apiVersion(group: string, version: string): string {
  return group ? `${group}/${version}` : version
}
