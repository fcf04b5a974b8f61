/**
 * Objects as a Table, the format that `kubectl get` requests.
 */
import type { ApiObject, Fields } from '../json.ts'
import type { Column } from '../kinds/kinds.ts'

export type IncludeObject = 'None' | 'Metadata' | 'Object'

export interface TableFormat {
  /** v1, or v1beta1 for old clients. */
  version: string
  include: IncludeObject
}

export function table(
  objects: readonly ApiObject[],
  columns: readonly Column[],
  form: TableFormat,
  now: Date,
  metadata: Fields,
): Fields {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata,
    columnDefinitions: columns.map(({ name, type, format = '', description = '', priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    rows: objects.map(object => ({
      cells: columns.map(column => column.cell(object, now) ?? null),
      ...included(object, form.include),
    })),
  }
}

function included(object: ApiObject, include: IncludeObject): Fields {
  if (include === 'None') return {}
  return { object: include === 'Object' ? object : partial(object) }
}

/** PartialObjectMetadata: the object without anything but its metadata. */
export function partial(object: ApiObject): Fields {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }
}
