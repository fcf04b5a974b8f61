/**
 * Streams a watch: one JSON line per event, bookmarks in between, until the timeout.
 */

import { ApiError } from '../api-errors.ts'
import { kindId } from '../kinds/kinds.ts'
import type { Target } from '../objects/target.ts'
import { watch } from '../objects/watch.ts'
import type { HandlerOptions, RequestContext } from './context.ts'
import { type ListQuery, versionNumber } from './options.ts'
import { bookmarkText, eventText, type ResponseOptions } from './responses.ts'

const bookmarkSeconds = 60
const maxSeconds = 3600
/** A client that does not read is disconnected; it can resume the watch. */
const maxUnreadBytes = 128 * 1024 * 1024

export function serveWatch(
  { response }: RequestContext,
  { cluster }: HandlerOptions,
  target: Target,
  query: ListQuery,
  options: ResponseOptions,
): void {
  const { store, now } = cluster
  const from = versionNumber(query.resourceVersion)
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
  response.flushHeaders()
  const current = () => ({ ...options, now: now() })
  const write = (text: string) => {
    response.write(text)
    if (response.writableLength > maxUnreadBytes) response.destroy()
  }
  const bookmark = () => {
    if (query.bookmarks) write(bookmarkText(store.version(), false, current()))
  }
  const seconds = Math.min(query.timeoutSeconds || maxSeconds, maxSeconds)
  let stop = () => {}
  const timers: NodeJS.Timeout[] = []
  const end = () => {
    stop()
    for (const timer of timers) clearTimeout(timer)
    if (!response.writableEnded) response.end()
  }
  response.on('close', end)
  try {
    stop = watch(
      store,
      {
        kind: kindId(target.kind),
        namespace: target.namespace,
        matches: query.matches,
        from,
        initialEvents: query.sendInitialEvents,
      },
      {
        event: event => write(eventText(event, current())),
        bookmark: ({ version, initialEventsEnd }) => {
          if (query.bookmarks) write(bookmarkText(version, initialEventsEnd, current()))
        },
      },
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    response.write(`${JSON.stringify({ type: 'ERROR', object: error.status })}\n`)
    end()
    return
  }
  timers.push(setTimeout(end, seconds * 1000))
  timers.push(setInterval(bookmark, bookmarkSeconds * 1000))
  if (seconds > 2) timers.push(setTimeout(bookmark, (seconds - 2) * 1000))
}
