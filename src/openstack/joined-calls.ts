/**
 * Joins calls for lists of ids: OpenstackConfigs of one cloud that ask at the same time get the answer of one request.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves to the answer for these and other ids. */
export type JoinedCall<T> = (ids: readonly string[], signal?: AbortSignal) => Promise<T>

export interface JoinOptions {
  /** The next request starts after the last one. Default: each waits a moment for others to join. */
  oneAtATime?: boolean
}

/** How long a request waits for others to join. */
const joinMs = 2

export function createJoinedCall<T>(
  call: (ids: string[]) => Promise<T>,
  { oneAtATime = false }: JoinOptions = {},
): JoinedCall<T> {
  /** Not sent yet. What is already sent may be older than what the caller heard of. */
  let next: { ids: Set<string>; answer: Promise<T> } | undefined
  let last: Promise<unknown> = Promise.resolve()

  function open() {
    const ids = new Set<string>()
    const answer = (oneAtATime ? last : sleep(joinMs)).then(() => {
      next = undefined
      return call([...ids])
    })
    // All callers may be aborted before it fails.
    last = answer.catch(() => {})
    return { ids, answer }
  }

  return (ids, signal) => {
    next ??= open()
    for (const id of ids) next.ids.add(id)
    return unlessAborted(next.answer, signal)
  }
}

/** An aborted caller does not abort the work for the others. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
