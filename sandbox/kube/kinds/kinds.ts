/**
 * The kinds that the API serves and how each behaves.
 */
import type { FieldError, ResourceType } from '../api-errors.ts'
import type { ApiObject } from '../json.ts'
import type { Schema } from './schema.ts'

export interface Column {
  name: string
  type: string
  format?: string
  description?: string
  /** 0 is always shown, higher values only with `-o wide`. */
  priority?: number
  cell: (object: ApiObject, now: Date) => unknown
}

export interface KindVersion {
  name: string
  served: boolean
  schema: Schema | undefined
  /** Whether it has a status subresource. */
  status: boolean
  columns: readonly Column[]
}

/** Differences from the generic behaviour. The functions get a copy that they may change. */
export interface Behaviour {
  /** Sets defaults and computed fields. */
  prepare?(object: ApiObject, old: ApiObject | undefined): void
  validate?(object: ApiObject, old: ApiObject | undefined): FieldError[]
  keepsStatusAtCreate?: boolean
  /** PUT without a resourceVersion is allowed. */
  unconditionalUpdate?: boolean
  /** PUT of a missing object creates it. */
  createOnUpdate?: boolean
  /** Whether metadata.generation is set. */
  generation?: boolean
  /** Grace period of a deletion in seconds; 0 removes immediately. */
  grace?(object: ApiObject, requested: number | undefined): number
  /** Finalizers that a deletion adds; a controller of the server removes them. */
  finalizersAtDelete?: readonly string[]
  /** DELETE returns the object instead of a Status. */
  returnsDeleted?: boolean
  /** Names may be any path segment (RBAC). */
  anyPathName?: boolean
}

export interface Kind extends ResourceType {
  singular: string
  listKind: string
  shortNames: readonly string[]
  categories: readonly string[]
  namespaced: boolean
  custom: boolean
  /** Its definition is being deleted: objects can no longer be created. */
  terminating?: true
  /** Storage version first. */
  versions: readonly KindVersion[]
  behaviour: Behaviour
  /** selectableFields of a CRD. */
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

/** Key of a kind in the store: `group/plural`. */
export function kindId(kind: { group: string; plural: string }): string {
  return `${kind.group}/${kind.plural}`
}

export function apiVersion(group: string, version: string): string {
  return group ? `${group}/${version}` : version
}
