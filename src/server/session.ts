/**
 * Sign-in of a browser: a token, sent once, becomes a cookie that only this server gets and no script can read.
 */
import { sessionPath } from '../contract/inventory.ts'
import type { Access } from './access.ts'
import { sessionCookie } from './credentials.ts'
import type { Right } from './reviews.ts'
import type { Handler } from './routes.ts'
import { HttpProblem } from './server.ts'

/** The token may expire before. */
const maxAgeSeconds = 12 * 3_600

export function sessionHandlers(access: Access, right: Right): Record<string, Handler> {
  return {
    [`post ${sessionPath}`]: async (request, reply) => {
      // From the body, not from a header: a proxy in front may add its own token, which no user may get.
      const { token } = (request.body ?? {}) as { token?: unknown }
      if (typeof token !== 'string' || !/^[\w.~+/=-]+$/.test(token))
        throw new HttpProblem(400, 'token: must be a token')
      await access.requireKnown(await access.callerWith(token), right)
      return reply.code(204).header('set-cookie', sessionCookie(token, maxAgeSeconds)).send()
    },
    [`get ${sessionPath}`]: async (request, reply) => {
      const { user } = await access.callerOf(request, reply)
      return reply.header('cache-control', 'no-store').send({ user })
    },
    [`delete ${sessionPath}`]: async (_request, reply) =>
      reply.code(204).header('set-cookie', sessionCookie('', 0)).send(),
  }
}
