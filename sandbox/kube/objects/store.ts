/**
 * The objects of one cluster, with one version that rises with every change and a bounded log of changes for watches.
 *
 * It knows no rules of any kind: `verbs.ts` does. Objects are never changed in place, so they may be handed out as they are.
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

export interface Snapshot {
  version: number
  objects: Record<string, ApiObject[]>
}

export interface Store {
  /** The version of the last change. */
  version(): number
  get(kind: string, namespace: string | undefined, name: string): ApiObject | undefined
  /** In no order. */
  all(kind: string): Iterable<ApiObject>
  /** By namespace and name, in the order of both. */
  list(kind: string, namespace?: string): ApiObject[]
  /** The same as it was at a version; undefined when the log does not reach back that far. */
  listAt(version: number, kind: string, namespace?: string): ApiObject[] | undefined
  byUid(uid: string): { kind: string; object: ApiObject } | undefined
  kinds(): string[]
  /** Creates or replaces; gives the object with its new resourceVersion. */
  put(kind: string, object: ApiObject): ApiObject
  remove(kind: string, object: ApiObject): ApiObject
  /** Changes after a version, oldest first; undefined when the log does not reach back that far. */
  since(version: number): Change[] | undefined
  /** The oldest version that a watch can still start from. */
  oldest(): number
  /** Forgets the log, as etcd's compaction does. */
  compact(): void
  subscribe(listener: (change: Change) => void): () => void
  snapshot(): Snapshot
}

const separator = '\u0000'

export function objectId(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}${separator}${name}`
}

export function createStore({ kept = 5_000, from }: { kept?: number; from?: Snapshot } = {}): Store {
  const drawers = new Map<string, Map<string, ApiObject>>()
  const uids = new Map<string, { kind: string; object: ApiObject }>()
  const listeners = new Set<(change: Change) => void>()
  let log: Change[] = []
  let version = from?.version ?? 0
  let compacted = version

  const drawer = (kind: string) => {
    let objects = drawers.get(kind)
    if (!objects) {
      objects = new Map()
      drawers.set(kind, objects)
    }
    return objects
  }

  const keep = (kind: string, object: ApiObject) => {
    drawer(kind).set(objectId(object.metadata.namespace, object.metadata.name), object)
    if (object.metadata.uid) uids.set(object.metadata.uid, { kind, object })
  }

  const record = (change: Change) => {
    log.push(change)
    if (log.length > kept * 1.25) {
      const dropped = log.length - kept
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

  for (const [kind, objects] of Object.entries(from?.objects ?? {})) for (const object of objects) keep(kind, object)

  return {
    version: () => version,
    get: (kind, namespace, name) => drawers.get(kind)?.get(objectId(namespace, name)),
    all: kind => drawers.get(kind)?.values() ?? [],
    list: (kind, namespace) => sorted(drawers.get(kind) ?? [], namespace),
    listAt(at, kind, namespace) {
      const objects = new Map(drawers.get(kind))
      const undone = since(at)?.filter(change => change.kind === kind)
      for (const { object, old } of undone?.reverse() ?? []) {
        const id = objectId(object.metadata.namespace, object.metadata.name)
        if (old) objects.set(id, old)
        else objects.delete(id)
      }
      return undone && sorted(objects, namespace)
    },
    byUid: uid => uids.get(uid),
    kinds: () => [...drawers.keys()],
    put(kind, object) {
      const old = drawers.get(kind)?.get(objectId(object.metadata.namespace, object.metadata.name))
      version++
      const kept = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
      keep(kind, kept)
      record({ type: old ? 'MODIFIED' : 'ADDED', kind, object: kept, old, version })
      return kept
    },
    remove(kind, object) {
      const id = objectId(object.metadata.namespace, object.metadata.name)
      const old = drawers.get(kind)?.get(id)
      drawers.get(kind)?.delete(id)
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
    snapshot: () => ({
      version,
      objects: Object.fromEntries([...drawers].map(([kind, objects]) => [kind, [...objects.values()]])),
    }),
  }
}
