/**
 * Objects as a Table, the format that `kubectl get` requests. Rows contain the object, or only its metadata.
 */
import type { ApiObject, Fields } from '../json.ts'
import type { Column } from '../kinds/kinds.ts'

export interface TableOptions {
  columns: readonly Column[]
  wholeObjects: boolean
  now: Date
}

export function table(objects: readonly ApiObject[], options: TableOptions, metadata: Fields): Fields {
  const { columns, wholeObjects, now } = options
  return {
    ...{ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata },
    columnDefinitions: columns.map(({ cell: _, ...column }) => ({
      format: '',
      description: '',
      priority: 0,
      ...column,
    })),
    rows: objects.map(object => ({
      cells: columns.map(column => column.cell(object, now) ?? null),
      object: wholeObjects
        ? object
        : { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  }
}
