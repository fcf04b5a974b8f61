/**
 * The objects of a cluster, with a version that increases with every change and a bounded log of changes for watches.
 *
 * Contains no API rules: those are in `verbs.ts`. Objects are immutable, so callers get them without a copy.
 */
import type { ApiObject } from '../json.ts'

export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** `group/plural` */
  kind: string
  object: ApiObject
  old: ApiObject | undefined
  version: number
}

export interface Store {
  /** The version of the last change. */
  version(): number
  get(kind: string, namespace: string | undefined, name: string): ApiObject | undefined
  /** Unordered. */
  all(kind: string): Iterable<ApiObject>
  /** Ordered by namespace and name. */
  list(kind: string, namespace?: string): ApiObject[]
  /** The same at an older version; undefined if the log does not reach back that far. */
  listAt(version: number, kind: string, namespace?: string): ApiObject[] | undefined
  byUid(uid: string): { kind: string; object: ApiObject } | undefined
  kinds(): string[]
  /** Creates or replaces; returns the object with its new resourceVersion. */
  put(kind: string, object: ApiObject): ApiObject
  remove(kind: string, object: ApiObject): ApiObject
  /** Changes after a version, oldest first; undefined if the log does not reach back that far. */
  since(version: number): Change[] | undefined
  /** The oldest version that a watch can start from. */
  oldest(): number
  /** Drops the log, like an etcd compaction. */
  compact(): void
  subscribe(listener: (change: Change) => void): () => void
}

const separator = '\u0000'

export function objectId(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}${separator}${name}`
}

export function createStore({ logSize = 5_000 } = {}): Store {
  const collections = new Map<string, Map<string, ApiObject>>()
  const uids = new Map<string, { kind: string; object: ApiObject }>()
  const listeners = new Set<(change: Change) => void>()
  let log: Change[] = []
  let version = 0
  let compacted = version

  const collection = (kind: string) => {
    let objects = collections.get(kind)
    if (!objects) {
      objects = new Map()
      collections.set(kind, objects)
    }
    return objects
  }

  const insert = (kind: string, object: ApiObject) => {
    collection(kind).set(objectId(object.metadata.namespace, object.metadata.name), object)
    if (object.metadata.uid) uids.set(object.metadata.uid, { kind, object })
  }

  const record = (change: Change) => {
    log.push(change)
    if (log.length > logSize * 1.25) {
      const dropped = log.length - logSize
      compacted = log[dropped - 1]?.version ?? compacted
      log = log.slice(dropped)
    }
    for (const listener of [...listeners]) listener(change)
  }

  const sorted = (objects: Iterable<[string, ApiObject]>, namespace: string | undefined) => {
    const prefix = namespace === undefined ? '' : `${namespace}${separator}`
    const entries = [...objects].filter(([id]) => id.startsWith(prefix))
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  const since = (after: number) => {
    if (after < compacted) return undefined
    let first = log.length
    while (first > 0 && (log[first - 1]?.version ?? 0) > after) first--
    return log.slice(first)
  }

  return {
    version: () => version,
    get: (kind, namespace, name) => collections.get(kind)?.get(objectId(namespace, name)),
    all: kind => collections.get(kind)?.values() ?? [],
    list: (kind, namespace) => sorted(collections.get(kind) ?? [], namespace),
    listAt(at, kind, namespace) {
      const objects = new Map(collections.get(kind))
      const undone = since(at)?.filter(change => change.kind === kind)
      for (const { object, old } of undone?.reverse() ?? []) {
        const id = objectId(object.metadata.namespace, object.metadata.name)
        if (old) objects.set(id, old)
        else objects.delete(id)
      }
      return undone && sorted(objects, namespace)
    },
    byUid: uid => uids.get(uid),
    kinds: () => [...collections.keys()],
    put(kind, object) {
      const old = collections.get(kind)?.get(objectId(object.metadata.namespace, object.metadata.name))
      version++
      const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
      insert(kind, stored)
      record({ type: old ? 'MODIFIED' : 'ADDED', kind, object: stored, old, version })
      return stored
    },
    remove(kind, object) {
      const id = objectId(object.metadata.namespace, object.metadata.name)
      const old = collections.get(kind)?.get(id)
      collections.get(kind)?.delete(id)
      if (object.metadata.uid) uids.delete(object.metadata.uid)
      version++
      const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
      record({ type: 'DELETED', kind, object: last, old, version })
      return last
    },
    since,
    oldest: () => compacted,
    compact() {
      compacted = version
      log = []
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
