/**
 * What our parts may ask of a Kubernetes API: the contract between the hands and the rooms.
 *
 * Failures are `KubeError` (errors.ts) with the server's status, reason and message.
 */
import type { Key, KubeObject, ObjectMeta, Resource, WatchEvent } from './types.ts'

export interface ListOptions {
  /** Absent means all namespaces. */
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  signal?: AbortSignal
}

export interface CollectionOptions<T> extends ListOptions {
  /** What is kept of each object: the rest of a page is let go before the next one is read. */
  keep?: (object: T) => T
}

export interface WatchOptions extends ListOptions {
  resourceVersion: string
}

export interface WriteOptions {
  dryRun?: boolean
  signal?: AbortSignal
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string
  /** Takes fields over from another manager instead of answering 409. */
  force?: boolean
  subresource?: 'status'
}

export interface DeleteOptions extends WriteOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** Deletes only the object that has this uid: 409 when another one has taken the name. */
  uid?: string
}

/** What a manager wants to own of an object: never more than it means to keep. */
export type Applied = { metadata: ObjectMeta } & (object | Record<string, unknown>)

export interface Kube {
  /** Undefined when there is no such object. */
  get<T extends KubeObject>(resource: Resource<T>, key: Key): Promise<T | undefined>
  /** The whole list; pages are followed. */
  list<T extends KubeObject>(
    resource: Resource<T>,
    options?: CollectionOptions<T>,
  ): Promise<{ items: T[]; resourceVersion: string }>
  /** Ends quietly when the server or the signal ends it; throws on a broken connection and on 410 (KubeError, `isGone`). */
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  /** PUT: the object must carry the resourceVersion it was read with, or 409. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>
  /** JSON merge patch. */
  patch<T extends KubeObject>(resource: Resource<T>, key: Key, patch: object, options?: WriteOptions): Promise<T>
  /** JSON merge patch of the status subresource. With `resourceVersion`, 409 when the object has moved on. */
  patchStatus<T extends KubeObject>(
    resource: Resource<T>,
    key: Key,
    status: object,
    options?: WriteOptions & { resourceVersion?: string },
  ): Promise<T>
  /** Server-side apply. */
  apply<T extends KubeObject>(resource: Resource<T>, object: Applied, options: ApplyOptions): Promise<T>
  /** No error when it is gone already. */
  delete(resource: Resource, key: Key, options?: DeleteOptions): Promise<void>
}
