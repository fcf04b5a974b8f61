/**
 * The Kubernetes API as the components use it.
 *
 * Errors are `KubeError` (errors.ts) with the status, reason and message of the server.
 */
import type { Key, KubeObject, ObjectMeta, Resource, WatchEvent } from './types.ts'

export interface ListOptions {
  /** Default: all namespaces. */
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  signal?: AbortSignal
}

export interface CollectionOptions<T> extends ListOptions {
  /** Trims each object before the next page is read. */
  keep?: (object: T) => T
}

export interface WatchOptions extends ListOptions {
  resourceVersion: string
  /** Called when the server has accepted the watch. */
  onOpen?: () => void
}

export interface WriteOptions {
  dryRun?: boolean
  signal?: AbortSignal
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string
  /** Takes over fields of another manager instead of failing with 409. */
  force?: boolean
  subresource?: 'status'
}

export interface DeleteOptions extends WriteOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** Deletes only the object with this uid: 409 if another object has the name now. */
  uid?: string
}

/** The fields that a manager wants to own: no more than it intends to keep. */
export type Applied = { metadata: ObjectMeta } & (object | Record<string, unknown>)

export interface Kube {
  /** Undefined when there is no such object. */
  get<T extends KubeObject>(resource: Resource<T>, key: Key): Promise<T | undefined>
  /** The complete list, from all pages. */
  list<T extends KubeObject>(
    resource: Resource<T>,
    options?: CollectionOptions<T>,
  ): Promise<{ items: T[]; resourceVersion: string }>
  /** Returns when the server or the signal ends the watch; throws on a lost connection and on 410 (KubeError, `isGone`). */
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  /** PUT: 409 unless the object has the current resourceVersion. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  /** JSON merge patch; a list is a JSON patch (RFC 6902), which fails with 422 when one of its tests does. */
  patch<T extends KubeObject>(resource: Resource<T>, key: Key, patch: object, options?: WriteOptions): Promise<T>
  /** JSON merge patch of the status subresource. With `resourceVersion`: 409 if the object has changed since. */
  patchStatus<T extends KubeObject>(
    resource: Resource<T>,
    key: Key,
    status: object,
    options?: WriteOptions & { resourceVersion?: string },
  ): Promise<T>
  /** Server-side apply. */
  apply<T extends KubeObject>(resource: Resource<T>, object: Applied, options: ApplyOptions): Promise<T>
  /** No error if the object does not exist. */
  delete(resource: Resource, key: Key, options?: DeleteOptions): Promise<void>
}
