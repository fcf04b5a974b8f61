/**
 * The target of a request: an object or a collection of a kind, in one of its versions.
 */
import type { ApiObject } from '../json.ts'
import { type Kind, type Kinds, type KindVersion, kindId } from '../kinds/kinds.ts'

export interface Target {
  kind: Kind
  version: KindVersion
  namespace: string | undefined
  name: string
  subresource: string | undefined
}

export interface ObjectName {
  namespace?: string | undefined
  name: string
  subresource?: string
}

/** A target in the storage version of its kind. `id` is `group/plural`. */
export function targetFor(kinds: Kinds, id: string, { namespace, name, subresource }: ObjectName): Target {
  const kind = kinds.all().find(one => kindId(one) === id)
  const version = kind?.versions[0]
  if (!kind || !version) throw new Error(`kind ${id} not found`)
  return { kind, version, namespace, name, subresource }
}

export function targetOfObject(kinds: Kinds, id: string, object: ApiObject, subresource?: string): Target {
  const { namespace, name } = object.metadata
  return targetFor(kinds, id, { namespace, name, ...(subresource && { subresource }) })
}
