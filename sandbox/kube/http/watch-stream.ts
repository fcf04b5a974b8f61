/**
 * A watch as an answer that goes on: one JSON line an event, bookmarks in between, until the time is up.
 */

import { ApiFailure } from '../failures.ts'
import { kindId } from '../kinds/kinds.ts'
import type { Target } from '../objects/admission.ts'
import { watch } from '../objects/watch.ts'
import type { Asked, HandlerOptions } from './handler.ts'
import { type ListQuery, versionNumber } from './options.ts'
import { type Answering, bookmarkText, eventText } from './responses.ts'

const bookmarkEvery = 60
const longest = 3600
/** A client that does not read is let go; it comes back and resumes. */
const mostUnread = 128 * 1024 * 1024

export function serveWatch(
  { response }: Asked,
  { cluster }: HandlerOptions,
  target: Target,
  query: ListQuery,
  answering: Answering,
): void {
  const { store, now } = cluster
  const from = versionNumber(query.resourceVersion)
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
  response.flushHeaders()
  const told = () => ({ ...answering, now: now() })
  const write = (text: string) => {
    response.write(text)
    if (response.writableLength > mostUnread) response.destroy()
  }
  const bookmark = () => {
    if (query.bookmarks) write(bookmarkText(store.version(), false, told()))
  }
  const seconds = Math.min(query.timeoutSeconds || longest, longest)
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
        event: event => write(eventText(event, told())),
        bookmark: ({ version, initialEventsEnd }) => {
          if (query.bookmarks) write(bookmarkText(version, initialEventsEnd, told()))
        },
      },
    )
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
    response.write(`${JSON.stringify({ type: 'ERROR', object: error.status })}\n`)
    end()
    return
  }
  timers.push(setTimeout(end, seconds * 1000))
  timers.push(setInterval(bookmark, bookmarkEvery * 1000))
  if (seconds > 2) timers.push(setTimeout(bookmark, (seconds - 2) * 1000))
}
