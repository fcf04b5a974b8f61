/**
 * Serializes objects, lists and watch events. The text of an object is cached with it, since stored objects are immutable.
 */
import { ApiError, expired } from '../api-errors.ts'
import type { ApiObject, Fields } from '../json.ts'
import { apiVersion, type Kind, type KindVersion, kindId } from '../kinds/kinds.ts'
import { objectId, type Store } from '../objects/store.ts'
import type { WatchEvent } from '../objects/watch.ts'
import { type ListQuery, versionNumber } from './options.ts'
import type { ResponseFormat } from './requests.ts'
import { type TableOptions, table } from './table.ts'

const texts = new WeakMap<ApiObject, Map<string, string>>()

/** The object as JSON in the requested version. */
function jsonText(object: ApiObject, kind: Kind, version: KindVersion): string {
  const requested = apiVersion(kind.group, version.name)
  let known = texts.get(object)
  if (!known) {
    known = new Map()
    texts.set(object, known)
  }
  let text = known.get(requested)
  if (text === undefined) {
    text = JSON.stringify(object.apiVersion === requested ? object : { ...object, apiVersion: requested })
    known.set(requested, text)
  }
  return text
}

export interface ResponseOptions {
  kind: Kind
  version: KindVersion
  format: ResponseFormat
  now: Date
}

function tableOptions({ version, format, now }: ResponseOptions): TableOptions {
  return { columns: version.columns, wholeObjects: format.wholeObjects, now }
}

export function objectText(object: ApiObject, options: ResponseOptions): string {
  if (options.format.as === 'plain') return jsonText(object, options.kind, options.version)
  const { resourceVersion } = object.metadata
  return JSON.stringify(table([object], tableOptions(options), { resourceVersion }))
}

export function listText(
  store: Store,
  namespace: string | undefined,
  query: ListQuery,
  answering: ResponseOptions,
): string {
  const { kind, version, format } = answering
  const { objects, metadata } = page(store, kindId(kind), namespace, query)
  if (format.as === 'table') return JSON.stringify(table(objects, tableOptions(answering), metadata))
  const items = objects.map(object => jsonText(object, kind, version))
  const head = { kind: kind.listKind, apiVersion: apiVersion(kind.group, version.name), metadata }
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items.join(',')}]}`
}

interface Continuation {
  version: number
  after: string
}

function page(store: Store, kind: string, namespace: string | undefined, query: ListQuery) {
  const from = query.continue ? readContinuation(query.continue) : undefined
  const minimum = checkReached(query.resourceVersion, store)
  const exact = from?.version ?? (query.resourceVersionMatch === 'Exact' ? minimum : undefined)
  const all = exact === undefined ? store.list(kind, namespace) : store.listAt(exact, kind, namespace)
  if (!all) throw expired(from ? tooOldToContinue : 'The resourceVersion for the provided list is too old.')
  const chosen = all.filter(query.matches)
  const rest = from ? chosen.filter(object => idOf(object) > from.after) : chosen
  const objects = query.limit > 0 ? rest.slice(0, query.limit) : rest
  const version = exact ?? store.version()
  const left = rest.length - objects.length
  const last = objects.at(-1)
  const metadata: Fields = { resourceVersion: String(version) }
  if (left > 0 && last) {
    const next: Continuation = { version, after: idOf(last) }
    metadata['continue'] = Buffer.from(JSON.stringify(next)).toString('base64url')
    metadata['remainingItemCount'] = left
  }
  return { objects, metadata }
}

const tooOldToContinue =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.'

/** Parses a resourceVersion and rejects one that the store has not reached yet. */
export function checkReached(text: string, store: Store): number | undefined {
  const requested = versionNumber(text)
  if (requested === undefined || requested <= store.version()) return requested
  const message = `Timeout: Too large resource version: ${requested}, current: ${store.version()}`
  throw new ApiError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

const idOf = (object: ApiObject) => objectId(object.metadata.namespace, object.metadata.name)

function readContinuation(token: string): Continuation {
  try {
    const { version, after } = JSON.parse(Buffer.from(token, 'base64url').toString()) as Continuation
    if (typeof version === 'number' && typeof after === 'string') return { version, after }
  } catch {
    // Rejected below.
  }
  throw new ApiError(400, 'BadRequest', 'invalid continue token: continue key is not valid')
}

export function eventText({ type, object }: WatchEvent, answering: ResponseOptions): string {
  return `{"type":"${type}","object":${objectText(object, answering)}}\n`
}

/** A bookmark is an object of the kind with only a resourceVersion. */
export function bookmarkText(resourceVersion: number, initialEventsEnd: boolean, answering: ResponseOptions): string {
  const { kind, version, format } = answering
  const metadata: Fields = {
    resourceVersion: String(resourceVersion),
    creationTimestamp: null,
    ...(initialEventsEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  }
  const object =
    format.as === 'table'
      ? table([], tableOptions(answering), { resourceVersion: String(resourceVersion) })
      : { kind: kind.kind, apiVersion: apiVersion(kind.group, version.name), metadata }
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`
}
