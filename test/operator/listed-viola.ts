/**
 * A streaming Viola whose list the operator knows, and what its events concern.
 */
import assert from 'node:assert/strict'
import type { DeliveredListOptions } from '../../src/operator/viola/delivered-list.ts'
import type { Concerned } from '../../src/operator/viola/viola-client.ts'
import { eventually } from '../support/eventually.ts'
import { type StreamingViola, startStreamingViola } from './viola-stream.ts'

export const minute = 60_000

/** Follows the stream, and collects whom its events concern. */
export function follow({ client }: StreamingViola) {
  const stop = new AbortController()
  const concerned: (string[] | 'all')[] = []
  let failure: unknown
  const ended = (async () => {
    for await (const one of client.watchNodeConfigs(stop.signal)) concerned.push(namesOf(one))
  })()
  ended.catch(error => {
    failure = error
  })
  return {
    concerned,
    ended,
    get failure() {
      return failure
    },
    stop: () => stop.abort(),
  }
}

function namesOf(concerned: Concerned): string[] | 'all' {
  return concerned === 'all' ? concerned : [...concerned].toSorted()
}

export async function statesOf({ client }: StreamingViola, maxAgeMs = minute): Promise<string[]> {
  const { nodes } = await client.list(undefined, { maxAgeMs })
  return nodes.map(({ nodeName, generation, status }) => `${nodeName} ${generation} ${status?.state}`)
}

/** A Viola with two nodes, listed once, with an open stream that reported no difference. */
export async function aListedViola(options?: DeliveredListOptions) {
  // A server that stays open after a failure would keep the file from ending.
  await using started = new AsyncDisposableStack()
  const viola = started.use(await startStreamingViola(options))
  viola.change({ nodeName: 'worker-1', sources: ['ns/a', 'ns/b'] })
  viola.change({ nodeName: 'worker-2', sources: ['ns/b'] })
  await statesOf(viola)
  const watch = follow(viola)
  await eventually(() => assert.deepEqual([watch.failure, watch.concerned], [undefined, [[]]]))
  watch.concerned.length = 0
  const open = started.move()
  return { viola, watch, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
