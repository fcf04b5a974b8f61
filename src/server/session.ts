/**
 * Sign-in of a browser: a token, sent once, becomes a cookie that only this server gets and no script can read.
 */
import type { FastifyInstance } from 'fastify'
import { sessionPath } from '../contract/inventory.ts'
import type { Access } from './access.ts'
import { bearerTokenIn, sessionCookie } from './credentials.ts'
import type { Right } from './reviews.ts'

/** The token may expire before. */
const maxAgeSeconds = 12 * 3_600

export function serveSession(app: FastifyInstance, access: Access, right: Right): void {
  app.post(sessionPath, async (request, reply) => {
    const caller = await access.callerOf(request, reply, { known: true })
    await access.requireKnown(caller, right)
    const token = bearerTokenIn(request.headers.authorization) ?? ''
    return reply.code(204).header('set-cookie', sessionCookie(token, maxAgeSeconds)).send()
  })
  // Tells a page whether the browser kept the cookie.
  app.get(sessionPath, async (request, reply) => {
    const { user } = await access.callerOf(request, reply)
    return reply.header('cache-control', 'no-store').send({ user })
  })
  app.delete(sessionPath, async (_request, reply) => reply.code(204).header('set-cookie', sessionCookie('', 0)).send())
}
