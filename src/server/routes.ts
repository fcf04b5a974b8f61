/**
 * Serves the routes of an API that is described as data (contract/openapi.ts). Any other method on a path is a 405,
 * and a query parameter that is not in the description is a 400.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Api, Route } from '../contract/openapi.ts'
import { HttpProblem, routesOf } from './server.ts'

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Handlers by `method path`. `before` runs after the headers and before the body is read. */
export function serveApi(
  app: FastifyInstance,
  { routes, ignoresUnknownQuery = false }: Pick<Api, 'routes' | 'ignoresUnknownQuery'>,
  handlers: Record<string, Handler>,
  before: (route: Route, request: FastifyRequest, reply: FastifyReply) => Promise<void> = async () => {},
): void {
  routesOf(app).push(...routes)
  for (const route of routes) {
    const handler = handlers[`${route.method} ${route.path}`]
    if (!handler) throw new Error(`no handler for ${route.method} ${route.path}`)
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      await before(route, request, reply)
      if (!ignoresUnknownQuery) checkQuery(route, queryOf(request))
    }
    const limit = route.maxBodyBytes === undefined ? {} : { bodyLimit: route.maxBodyBytes }
    app.route({ method: route.method.toUpperCase(), url: urlOf(route.path), onRequest, handler, ...limit })
  }
  for (const method of ['QUERY', 'TRACE'])
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: method === 'QUERY' })
  for (const [path, ofPath] of Map.groupBy(routes, route => route.path)) {
    const served = ofPath.map(({ method }) => method.toUpperCase())
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE'].filter(
        method => !served.includes(method),
      ),
      url: urlOf(path),
      onRequest: async (_request, reply) => {
        reply.header('allow', served.join(', '))
        throw new HttpProblem(405, `method not allowed: use ${served.join(' or ')}`)
      },
      handler: async () => {},
    })
  }
}

function checkQuery({ query = {} }: Route, given: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(query, name) ? query[name] : undefined
    if (known === undefined) {
      const names = Object.keys(query).join(', ')
      const message = `unknown query parameter ${JSON.stringify(name)}; ${names ? `use ${names}` : 'there are none'}`
      throw new HttpProblem(400, message, { errors: [{ path: name, message: 'unknown' }] })
    }
    const values = typeof known === 'string' ? undefined : (known.schema['enum'] as string[] | undefined)
    if (value && values && !values.includes(value))
      throw new HttpProblem(400, `${name} must be one of ${values.join(', ')}`)
  }
}

/** The first value of each parameter. */
export function queryOf(request: FastifyRequest): Record<string, string | undefined> {
  const query = request.query as Record<string, string | string[] | undefined>
  return Object.fromEntries(Object.entries(query).map(([key, value]) => [key, Array.isArray(value) ? value[0] : value]))
}

/** Sets the ETag, and reports whether the client already has this version, so that the response is a 304. */
export function isNotModified(request: FastifyRequest, reply: FastifyReply, version: string): boolean {
  const etag = `"${version}"`
  reply.header('etag', etag).header('cache-control', 'no-cache')
  const known = (request.headers['if-none-match'] ?? '').split(',').map(one => one.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}

/** The Link header of the next page, which starts at the cursor. */
export function nextLink(url: string, cursor: string): string {
  const next = new URL(url, 'http://here')
  next.searchParams.set('cursor', cursor)
  return `<${next.pathname}${next.search}>; rel="next"`
}

function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
