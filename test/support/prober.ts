/**
 * Requests URLs every 200 ms, each over a new connection, and remembers the failures: what a user of a Service sees.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { messageOf } from '../../src/runtime/errors.ts'
import { eventually } from './eventually.ts'

const everyMs = 200
/** A browser would wait longer. A shorter limit counts more failures. */
const timeoutMs = 2_000
/** After this time without a failure, the Service works again: longer than the timeout of a request. */
const quietMs = 5_000

export interface Failure {
  url: string
  at: number
  message: string
}

export interface Prober {
  /** Runs the work, waits until requests succeed again, and returns the failures since the start. */
  during(work: () => Promise<void>): Promise<Failure[]>
  stop(): Promise<void>
}

export interface ProberOptions {
  headers: Record<string, string>
  /** CA and name of the server's certificate. */
  tls: { ca: string; servername: string }
}

export function startProber(urls: readonly string[], { headers, tls }: ProberOptions): Prober {
  const failures: Failure[] = []
  const stopped = new AbortController()
  const pending = new Set<Promise<void>>()
  const probe = async (url: string) => {
    const at = performance.now()
    const dispatcher = new Agent({
      ...{ connect: { timeout: timeoutMs, ...tls }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    })
    try {
      const { statusCode, body } = await request(url, { dispatcher, headers })
      await body.dump()
      if (statusCode !== 200) throw new Error(`status ${statusCode}`)
    } catch (error) {
      failures.push({ url, at, message: messageOf(error) })
    } finally {
      await dispatcher.destroy()
    }
  }
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      for (const url of urls) {
        const probing = probe(url)
        pending.add(probing)
        void probing.then(() => pending.delete(probing))
      }
      await sleep(everyMs)
    }
  })()
  return {
    async during(work) {
      const from = performance.now()
      await work()
      await eventually(() => assert.ok(performance.now() - (failures.at(-1)?.at ?? 0) > quietMs), { within: 120_000 })
      return failures.filter(({ at }) => at >= from)
    },
    async stop() {
      stopped.abort()
      await loop
      await Promise.all(pending)
    },
  }
}

/** Milliseconds of the longest time with failures. Failures further apart than the gap are two times. */
export function maxOutage(failures: readonly Failure[], gapMs = 2_000): number {
  let [max, start, last] = [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const at of failures.map(failure => failure.at).sort((one, other) => one - other)) {
    if (at - last > gapMs) start = at
    last = at
    max = Math.max(max, last - start)
  }
  return max
}
