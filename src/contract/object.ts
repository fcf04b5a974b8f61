/**
 * Common fields of Kubernetes objects, and the API location of a kind.
 */
export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  finalizers?: string[]
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

/** API location of a kind. `T` only carries the object type. */
export interface Resource<T extends KubeObject = KubeObject> {
  group: string
  version: string
  kind: string
  plural: string
  namespaced: boolean
  /** Never set: it ties the object type to the resource. */
  readonly of?: T
}

/** The Ready condition of an object. Undefined before the first one. */
export function readyOf<C extends { type: string }>({
  status,
}: {
  status?: { conditions?: readonly C[] | undefined } | undefined
}): C | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')
}
