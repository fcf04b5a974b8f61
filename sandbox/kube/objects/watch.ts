/**
 * A watch on the store: changes since a version, then new changes, filtered by a selection.
 */
import { expired } from '../api-errors.ts'
import type { ApiObject } from '../json.ts'
import type { Matcher } from './selectors.ts'
import type { Change, Store } from './store.ts'

export interface Selection {
  /** `group/plural` */
  kind: string
  namespace: string | undefined
  matches: Matcher
}

export interface WatchRequest extends Selection {
  /** Absent or 0: existing objects are sent first. */
  from: number | undefined
  /** Existing objects are sent first, followed by a bookmark. */
  initialEvents?: boolean
}

export interface WatchEvent {
  type: Change['type']
  object: ApiObject
}

export interface Bookmark {
  version: number
  initialEventsEnd: boolean
}

export interface Listener {
  event(event: WatchEvent): void
  bookmark(bookmark: Bookmark): void
}

/** Delivers past events before it returns; returns a function that stops the watch. Throws 410 if `from` is too old. */
export function watch(store: Store, request: WatchRequest, listener: Listener): () => void {
  const { from, initialEvents } = request
  if (initialEvents || !from) {
    for (const object of selectObjects(store, request)) listener.event({ type: 'ADDED', object })
    if (initialEvents) listener.bookmark({ version: store.version(), initialEventsEnd: true })
  } else {
    const changes = store.since(from)
    if (!changes) throw expired(`too old resource version: ${from} (${store.oldest()})`)
    for (const change of changes) deliver(change, request, listener)
  }
  return store.subscribe(change => deliver(change, request, listener))
}

export function selectObjects(store: Store, { kind, namespace, matches }: Selection): ApiObject[] {
  return store.list(kind, namespace).filter(matches)
}

function deliver(change: Change, selection: Selection, listener: Listener): void {
  const event = visibleEvent(change, selection)
  if (event) listener.event(event)
}

/** The event for a change within a selection: an object that leaves the selection is DELETED. */
export function visibleEvent(change: Change, { kind, namespace, matches }: Selection): WatchEvent | undefined {
  const { type, object, old } = change
  if (change.kind !== kind || (namespace !== undefined && object.metadata.namespace !== namespace)) return undefined
  const was = old !== undefined && matches(old)
  const is = type !== 'DELETED' && matches(object)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object }
  return was ? { type: 'DELETED', object } : undefined
}
