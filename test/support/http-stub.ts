/**
 * A real HTTP server whose answers a test writes itself, and a small one that stores objects like a Kubernetes API.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: unknown
  socket: Socket
}

export type Handler = (asked: Asked, response: ServerResponse) => void | Promise<void>

export interface HttpStub {
  url: string
  /** Every request so far. */
  asked: Asked[]
  /** How many connections were made so far. */
  connections(): number
  close(): Promise<void>
}

export async function serve(handler: Handler, tls?: ServerOptions): Promise<HttpStub> {
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  let connections = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://stub')
    const { method = 'GET', headers, socket } = request
    const one = { method, path, query, headers, body: text ? JSON.parse(text) : undefined, socket }
    asked.push(one)
    await handler(one, response)
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch(error => response.destroy(error))
  }
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    asked,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function refuse(response: ServerResponse, code: number, reason: string, headers: Record<string, string> = {}) {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason, details: {} }
  json(response, code, status, headers)
}

interface Stored {
  metadata: { name: string; namespace?: string; resourceVersion?: string; uid?: string }
}

/** GET, POST, PUT and merge PATCH of any path, with resourceVersions that are checked. */
export function objectStore(): { handler: Handler; objects: Map<string, Stored> } {
  const objects = new Map<string, Stored>()
  let version = 100
  const handler: Handler = ({ method, path, body }, response) => {
    const given = body as Stored
    const at = method === 'POST' ? `${path}/${given.metadata.name}` : path
    const present = objects.get(at)
    if (method === 'POST' ? present : !present) {
      refuse(response, present ? 409 : 404, present ? 'AlreadyExists' : 'NotFound')
      return
    }
    if (method === 'GET') {
      json(response, 200, present)
      return
    }
    const sent = given.metadata?.resourceVersion
    if (sent && sent !== present?.metadata.resourceVersion) {
      refuse(response, 409, 'Conflict')
      return
    }
    const next = method === 'PATCH' ? { ...present, ...given } : { ...given }
    const uid = present?.metadata.uid ?? `uid-${version}`
    next.metadata = {
      ...present?.metadata,
      ...given.metadata,
      uid,
      resourceVersion: String(++version),
    } as Stored['metadata']
    objects.set(at, next as Stored)
    json(response, method === 'POST' ? 201 : 200, next)
  }
  return { handler, objects }
}
