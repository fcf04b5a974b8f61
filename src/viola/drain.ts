/**
 * A graceful end: what is under way is answered first.
 */
import { finished } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** Requests under way are answered before connections are cut, within a bound. */
export function drainBeforeClose(app: FastifyInstance, longestMs = 10_000): void {
  let underWay = 0
  let drained: (() => void) | undefined
  app.addHook('onRequest', async (_request, reply) => {
    underWay++
    // Fastify's own onResponse says nothing of a caller who has left before the answer.
    finished(reply.raw, () => {
      if (--underWay === 0) drained?.()
    })
  })
  app.addHook('preClose', async () => {
    if (underWay === 0) return
    await Promise.race([
      new Promise<void>(resolve => {
        drained = resolve
      }),
      sleep(longestMs, undefined, { ref: false }),
    ])
  })
}
