/**
 * What every Kubernetes object has, and where a kind lives in the API.
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

/** Where a kind lives in the API. `T` is carried for the caller's sake only. */
export interface Resource<T extends KubeObject = KubeObject> {
  group: string
  version: string
  kind: string
  plural: string
  namespaced: boolean
  /** Never set: it ties the object type to the resource. */
  readonly of?: T
}
