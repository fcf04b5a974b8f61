/**
 * Names of objects inside the cluster, as the verbs take them: for the controllers that live beside the store.
 */

import type { ApiObject } from '../json.ts'
import { type Kinds, kindId } from '../kinds/kinds.ts'
import type { Target } from './admission.ts'

export interface ObjectName {
  namespace?: string | undefined
  name: string
  subresource?: string
}

/** An object in the version that its kind is stored in. `id` is `group/plural`. */
export function targetFor(kinds: Kinds, id: string, { namespace, name, subresource }: ObjectName): Target {
  const kind = kinds.all().find(one => kindId(one) === id)
  const version = kind?.versions[0]
  if (!kind || !version) throw new Error(`no kind is called ${id}`)
  return { kind, version, namespace, name, subresource }
}

export function targetOfObject(kinds: Kinds, id: string, object: ApiObject, subresource?: string): Target {
  const { namespace, name } = object.metadata
  return targetFor(kinds, id, { namespace, name, ...(subresource && { subresource }) })
}
