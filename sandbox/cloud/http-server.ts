/**
 * What the cloud's servers have in common: JSON answers, the limit of a request line, faults on request, and a count of calls.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { mannerOf, ruined, slowMs } from './response-faults.ts'
import type { Service, World } from './state.ts'

export interface Request {
  method: string
  /** Scheme and host as the caller wrote them, for links. */
  base: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
}

export interface Answer {
  status: number
  /** Text goes as it is, all else as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

export type Handler = (request: Request) => Answer

export interface CloudServer {
  url: string
  calls(): number
  close(): Promise<void>
}

export interface ServeOptions {
  service: Service
  world: World
  handler: Handler
  /** The body of a 500, in the words of that service. */
  broken: unknown
  log: Log
  /** An address of this machine; only this machine itself is served unless told. */
  host?: string
}

/** As eventlet counts it: a line that fills its buffer (method, target, version and the line's end) is too long. */
const requestLineLimit = 8192

export async function serve(options: ServeOptions): Promise<CloudServer> {
  const { service, world, log, host = '127.0.0.1' } = options
  let calls = 0
  const answerTo = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', httpVersion } = incoming
    const body = await text(incoming)
    const manner = mannerOf(world.faults, service)
    if (manner === 'silent') return
    if (manner === 'slow') await sleep(slowMs)
    if (`${method} ${url} HTTP/${httpVersion}\r\n`.length >= requestLineLimit) {
      outgoing.writeHead(414, { connection: 'close', 'content-length': '0' }).end()
      return
    }
    const base = `http://${incoming.headers.host ?? 'localhost'}`
    const [address = '', search = ''] = url.split(/\?(.*)/s)
    const path = address.replace(/(?<=.)\/+$/, '')
    const request = { method, base, path, query: new URLSearchParams(search), headers: incoming.headers, body }
    const answer = manner === 'failing' ? { status: 500, body: options.broken } : answerOf(options, request)
    if (manner && ruined(manner, answer, outgoing)) return
    log.debug('answered', { service, method, path, status: answer.status })
    const payload = textOf(answer.body)
    outgoing
      .writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(payload)),
        ...(service !== 'contrabass' && { 'x-openstack-request-id': `req-${randomUUID()}` }),
        ...answer.headers,
      })
      .end(payload)
  }
  const server = createServer({ maxHeaderSize: 512 * 1024, keepAliveTimeout: 30_000 }, (incoming, outgoing) => {
    calls++
    // Whoever leaves in the middle of a request gets no answer, and must not end the sandbox.
    answerTo(incoming, outgoing).catch(error => {
      log.debug('a request was not read to its end', { service, error })
      outgoing.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://${host}:${port}`, calls: () => calls, close: () => closed(server) }
}

function answerOf({ handler, broken, service, log }: ServeOptions, request: Request): Answer {
  if (!isReadable(request.path)) return { status: 400 }
  try {
    return handler(request)
  } catch (error) {
    log.error('the cloud failed', { service, path: request.path, error })
    return { status: 500, body: broken }
  }
}

function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

export function textOf(body: unknown): string {
  return typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
}

async function text(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function closed(server: HttpServer): Promise<void> {
  const ended = new Promise<void>(resolve => server.close(() => resolve()))
  server.closeAllConnections()
  await ended
}

/** `{rel, href}` of another page of the same question. */
export function pageLink(request: Request, rel: string, changes: Record<string, string | undefined>) {
  const query = new URLSearchParams(request.query)
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name)
    if (value !== undefined) query.append(name, value)
  }
  return { rel, href: `${request.base}${request.path}?${query}` }
}

/** `2026-11-15T00:55:41Z`, as OpenStack writes times. */
export function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
