/**
 * Graceful shutdown.
 */
import { finished } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** Waits for requests in progress, at most `maxMs`, before connections close. */
export function drainBeforeClose(app: FastifyInstance, maxMs = 10_000): void {
  let inProgress = 0
  let drained: (() => void) | undefined
  app.addHook('onRequest', async (_request, reply) => {
    inProgress++
    // Fastify does not run onResponse if the client disconnects before the response.
    finished(reply.raw, () => {
      if (--inProgress === 0) drained?.()
    })
  })
  app.addHook('preClose', async () => {
    if (inProgress === 0) return
    await Promise.race([
      new Promise<void>(resolve => {
        drained = resolve
      }),
      sleep(maxMs, undefined, { ref: false }),
    ])
  })
}
