/**
 * When to read again: the event stream of the inventory tells; without it, an interval.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AccessFlags, accessFrom } from './access.ts'
import { connectTo } from './connection.ts'
import type { Io } from './io.ts'

export interface LiveChanges {
  /** Resolves when something may have changed since the last call. */
  next(): Promise<void>
  stop(): void
}

/** Ages, and what the operator says, change without an event. */
const refreshMs = 10_000
/** Several changes in a moment are read together. */
const settleMs = 200

export function liveChanges(io: Io, flags: AccessFlags, pollMs: number): LiveChanges {
  const stopped = new AbortController()
  let isLive = false
  let isDirty = false
  let wake = () => {}
  const changed = () => {
    isDirty = true
    wake()
  }
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopped.signal }).catch(() => {})

  async function follow(): Promise<void> {
    while (!stopped.signal.aborted) {
      // The command itself reports an inventory that does not respond.
      await followEvents(io, flags, stopped.signal, () => {
        isLive = true
        changed()
      }).catch(() => {})
      isLive = false
      await pause(pollMs)
    }
  }
  void follow()

  return {
    async next() {
      if (!isDirty) {
        const waited = new AbortController()
        const woken = new Promise<void>(resolve => {
          wake = resolve
        })
        await Promise.race([woken, sleep(isLive ? refreshMs : pollMs, undefined, waited)]).finally(() => waited.abort())
      }
      await pause(settleMs)
      isDirty = false
    },
    stop: () => stopped.abort(),
  }
}

/** Calls `changed` when the stream opens, because something may have changed before, and for each change. */
async function followEvents(io: Io, flags: AccessFlags, signal: AbortSignal, changed: () => void): Promise<void> {
  const { inventory, token } = accessFrom(flags, io)
  const service = await inventory()
  const bearer = await token()
  const connection = await connectTo(service)
  try {
    const { status, headers, body } = await connection.fetch('/v1/inventory/events', {
      // A redirect would send the token to another host.
      redirect: 'manual',
      signal,
      headers: { accept: 'text/event-stream', ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
    })
    if (status !== 200 || !headers.get('content-type')?.startsWith('text/event-stream')) return
    changed()
    // A heartbeat is a comment, which has no data.
    for await (const chunk of body ?? []) if (Buffer.from(chunk).includes('data:')) changed()
  } finally {
    await connection.close()
  }
}
