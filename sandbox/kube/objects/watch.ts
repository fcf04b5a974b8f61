/**
 * A watch over the store: what happened since a version, and then what happens, as far as it is selected.
 */
import { expired } from '../failures.ts'
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
  /** Absent or 0: what is there now comes first. */
  from: number | undefined
  /** What is there now comes first, and a bookmark says when it is all told. */
  initialEvents?: boolean
}

export interface Watched {
  type: Change['type']
  object: ApiObject
}

export interface Bookmark {
  version: number
  initialEventsEnd: boolean
}

export interface Listener {
  event(event: Watched): void
  bookmark(bookmark: Bookmark): void
}

/** Starts to tell; what is already known is told before it returns. Gives the way to stop. Throws 410 when it is too late. */
export function watch(store: Store, request: WatchRequest, listener: Listener): () => void {
  const { from, initialEvents } = request
  if (initialEvents || !from) {
    for (const object of selected(store, request)) listener.event({ type: 'ADDED', object })
    if (initialEvents) listener.bookmark({ version: store.version(), initialEventsEnd: true })
  } else {
    const changes = store.since(from)
    if (!changes) throw expired(`too old resource version: ${from} (${store.oldest()})`)
    for (const change of changes) tell(change, request, listener)
  }
  return store.subscribe(change => tell(change, request, listener))
}

export function selected(store: Store, { kind, namespace, matches }: Selection): ApiObject[] {
  return store.list(kind, namespace).filter(matches)
}

function tell(change: Change, selection: Selection, listener: Listener): void {
  const event = seen(change, selection)
  if (event) listener.event(event)
}

/** How a change looks to somebody who sees only a selection: an object that leaves it is deleted for them. */
export function seen(change: Change, { kind, namespace, matches }: Selection): Watched | undefined {
  const { type, object, old } = change
  if (change.kind !== kind || (namespace !== undefined && object.metadata.namespace !== namespace)) return undefined
  const was = old !== undefined && matches(old)
  const is = type !== 'DELETED' && matches(object)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object }
  return was ? { type: 'DELETED', object } : undefined
}
