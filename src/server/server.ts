/**
 * Common parts of our HTTP servers: problem+json errors, bounded bodies, health, metrics, an OpenAPI page that works offline.
 *
 * `createApp` does not listen, so that tests can inject requests.
 */
import type { IncomingMessage } from 'node:http'
import { type ServerOptions, Server as TlsServer } from 'node:https'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import { stringify } from 'yaml'
import { type Api, openApiDocument, type Route } from '../contract/openapi.ts'
import type { Problem } from '../contract/problem.ts'
import { BodyError, parseJson, readBody } from '../runtime/bounded-body.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { Exposition } from '../telemetry/metrics.ts'
import type { Certificates } from './certificates.ts'
import { docsPage, docsPolicy } from './docs-page.ts'
import { measureRequests, type ServerMetrics } from './request-metrics.ts'

/** Thrown by a handler to respond with a problem. */
interface ProblemOptions {
  errors?: Problem['errors']
  retryAfterSeconds?: number
  facts?: object
}

export class HttpProblem extends Error {
  readonly status: number
  readonly errors: Problem['errors']
  /** Sent as Retry-After. */
  readonly retryAfterSeconds: number | undefined
  /** Further members of the problem document. */
  readonly facts: object

  constructor(status: number, detail: string, { errors, retryAfterSeconds, facts = {} }: ProblemOptions = {}) {
    super(detail)
    this.status = status
    this.errors = errors
    this.retryAfterSeconds = retryAfterSeconds
    this.facts = facts
  }
}

export interface AppOptions {
  log: Log
  /** Bodies of any content type are read as JSON: the Go operator sends Viola none. */
  anyContentType?: boolean
  metrics?: Exposition & ServerMetrics
  /** The body of /healthz. The status is 503 unless healthy. */
  health?: () => { healthy: boolean; body: object }
  /** Reports what is missing before the component can work. An empty list means ready. */
  ready?: () => string[]
  /** Shown in /readyz without making the component unready. */
  warnings?: () => string[]
  /** Additional fields of /readyz. */
  details?: () => object
  /** Served as an OpenAPI document, with the routes of every API of this app. */
  api?: Omit<Api, 'routes'>
  /** If set, the server only accepts HTTPS. Closed with the app. */
  certificates?: Certificates | undefined
  /** A client that takes longer to send its headers, or its whole request, is disconnected. */
  timeouts?: { headersMs: number; requestMs: number }
  /** Further connections are refused. */
  maxConnections?: number
}

/** The routes of the APIs that an app serves. */
const apiRoutes = new WeakMap<FastifyInstance, Route[]>()

export function routesOf(app: FastifyInstance): Route[] {
  const routes = apiRoutes.get(app) ?? []
  apiRoutes.set(app, routes)
  return routes
}

/** Zod validates our requests. Without compilers of its own, Fastify would load those for JSON schemas: 4 MiB of memory. */
function noSchemas(): never {
  throw new Error('routes must not have JSON schemas')
}

/** No browser takes an answer for another type than it has, or shows it in the page of another site. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Enough for the largest body over a slow link. */
const defaultTimeouts = { headersMs: 10_000, requestMs: 30_000 }

export function createApp(options: AppOptions): FastifyInstance {
  const { log, metrics, api, certificates, timeouts = defaultTimeouts } = options
  // Node checks timeouts every 30 s by default, which would turn a limit of seconds into half a minute.
  const checked = { connectionsCheckingInterval: Math.min(timeouts.headersMs, 1_000) }
  const failed = (error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) => {
    const status = error instanceof HttpProblem ? error.status : (error.statusCode ?? 500)
    if (status >= 500) log.error('request failed', { method: request.method, path: pathOf(request.url), error })
    const detail =
      status >= 500 && !(error instanceof HttpProblem) ? 'internal error; see the log of the server' : messageOf(error)
    const { errors, retryAfterSeconds, facts } = error instanceof HttpProblem ? error : {}
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    // The rest of a body that was not read would be taken for the next request.
    if (!request.raw.complete) reply.header('connection', 'close')
    return reply
      .code(status)
      .type('application/problem+json')
      .send(JSON.stringify({ ...problemOf(status, detail, errors), ...facts }))
  }
  const server: FastifyServerOptions & { https?: ServerOptions } = {
    logger: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // Errors before routing, such as a URL that cannot be decoded.
    frameworkErrors(error, request, reply) {
      // Hooks do not run for these.
      reply.headers(securityHeaders)
      measure?.(request, reply)
      failed(error, request, reply)
    },
    ...(certificates ? { https: { ...certificates.options(), ...checked } } : { http: checked }),
    bodyLimit: defaultBodyBytes,
    forceCloseConnections: true,
    // Plugins load fast. A slow start means a busy machine, not a failure.
    pluginTimeout: 0,
    // Names and IDs have up to 253 characters, each up to 12 when encoded.
    routerOptions: { maxParamLength: 253 * 12 },
  }
  const app: FastifyInstance = Fastify(server)
  app.addHook('onRequest', async (_request, reply) => void reply.headers(securityHeaders))
  const measure = metrics && measureRequests(app, metrics)
  if (certificates && app.server instanceof TlsServer) certificates.follow(app.server)
  app.addHook('onClose', async () => certificates?.close())
  app.server.headersTimeout = timeouts.headersMs
  app.server.requestTimeout = timeouts.requestMs
  app.server.maxConnections = options.maxConnections ?? 10_000

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(options.anyContentType ? '*' : 'application/json', jsonBody)
  app.setErrorHandler(failed)
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .type('application/problem+json')
      .send(JSON.stringify(problemOf(404, `no route for ${request.method} ${pathOf(request.url)}`))),
  )

  const warnings = () => [...(options.warnings?.() ?? []), ...(certificates?.warnings() ?? [])]
  app.get('/healthz', async (_request, reply) => {
    const { healthy, body } = options.health?.() ?? { healthy: true, body: { status: 'ok' } }
    return reply.code(healthy ? 200 : 503).send(body)
  })
  app.get('/readyz', async (_request, reply) => {
    const missing = options.ready?.() ?? []
    return reply
      .code(missing.length > 0 ? 503 : 200)
      .send({ ready: missing.length === 0, missing, warnings: warnings(), ...options.details?.() })
  })
  if (metrics) {
    app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  }
  if (api) {
    let written: { json: string; yaml: string; html: string } | undefined
    // Everybody may ask for it, so it is written once.
    const pages = () => {
      const document = written ? {} : openApiDocument({ ...api, routes: routesOf(app) })
      written ??= { json: JSON.stringify(document), yaml: stringify(document), html: docsPage(document) }
      return written
    }
    app.get('/openapi.json', async (_request, reply) => reply.type('application/json').send(pages().json))
    app.get('/openapi.yaml', async (_request, reply) => reply.type('application/yaml').send(pages().yaml))
    app.get('/docs', async (_request, reply) =>
      reply.header('content-security-policy', docsPolicy).type('text/html; charset=utf-8').send(pages().html),
    )
  }
  return app
}

/** Bytes of a body, unless the route sets its own `bodyLimit`. */
const defaultBodyBytes = 1024 * 1024
/** 2,000 nodes with ten interfaces each, in a POST to Viola. */
const maxBodyElements = 200_000

/** The value of a body. Runs after the hooks of the route have accepted the caller. */
async function jsonBody(request: FastifyRequest, stream: IncomingMessage): Promise<unknown> {
  const { bodyLimit: bytes = defaultBodyBytes } = request.routeOptions
  try {
    if (Number(request.headers['content-length'] ?? 0) > bytes)
      throw new BodyError('tooLong', `is longer than ${bytes} bytes`)
    const body = await readBody(stream, { bytes, elements: maxBodyElements })
    return body.length === 0 ? undefined : parseJson(body)
  } catch (error) {
    // Anything else is an error of the connection.
    const { kind, message } = error instanceof BodyError ? error : { kind: 'cut' as const, message: 'was cut off' }
    throw new HttpProblem(bodyStatus[kind], `the body ${message}`)
  }
}

const bodyStatus = { tooLong: 413, tooComplex: 413, notJson: 400, overBudget: 503, cut: 400 }

/** Listens on `:8080`, `127.0.0.1:0` or `[::1]:8080` and returns the address. */
export async function listen(app: FastifyInstance, address: string): Promise<string> {
  const at = /^(.*):(\d+)$/.exec(address)
  if (!at) throw new Error(`"${address}" is not a listen address; use host:port or :port`)
  const host = (at[1] ?? '').replace(/^\[|\]$/g, '')
  const port = Number(at[2])
  if (host !== '') return app.listen({ host, port })
  try {
    return await app.listen({ host: '::', port })
  } catch (error) {
    // A kernel without IPv6.
    if (!(error instanceof Error && 'code' in error && error.code === 'EAFNOSUPPORT')) throw error
    return app.listen({ host: '0.0.0.0', port })
  }
}

function problemOf(status: number, detail: string, errors?: Problem['errors']): Problem {
  const title = titles[status] ?? (status >= 500 ? 'Server error' : 'Bad request')
  return { type: 'about:blank', title, status, detail, ...(errors && errors.length > 0 ? { errors } : {}) }
}

const titles: Record<number, string> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Content too large',
  429: 'Too many requests',
  502: 'Bad gateway',
  503: 'Unavailable',
  504: 'Gateway timeout',
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url
}
