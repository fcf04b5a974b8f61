/**
 * A real HTTP server with a handler of the test, and a small one that stores objects like a Kubernetes API.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface RecordedRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: unknown
  socket: Socket
}

export type Handler = (request: RecordedRequest, response: ServerResponse) => void | Promise<void>

export interface HttpStub {
  url: string
  /** Every request so far. */
  requests: RecordedRequest[]
  /** Number of connections so far. */
  connections(): number
  close(): Promise<void>
}

export async function serve(handler: Handler, tls?: ServerOptions): Promise<HttpStub> {
  const requests: RecordedRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://stub')
    const { method = 'GET', headers, socket } = request
    const recorded = { method, path, query, headers, body: text ? JSON.parse(text) : undefined, socket }
    requests.push(recorded)
    await handler(recorded, response)
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
    requests: requests,
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

/** GET, POST, PUT and merge PATCH of any path, with a check of the resourceVersion. */
export function objectStore(): { handler: Handler; objects: Map<string, Stored> } {
  const objects = new Map<string, Stored>()
  let version = 100
  const handler: Handler = ({ method, path, body }, response) => {
    const input = body as Stored
    const key = method === 'POST' ? `${path}/${input.metadata.name}` : path
    const present = objects.get(key)
    if (method === 'POST' ? present : !present) {
      refuse(response, present ? 409 : 404, present ? 'AlreadyExists' : 'NotFound')
      return
    }
    if (method === 'GET') {
      json(response, 200, present)
      return
    }
    const sent = input.metadata?.resourceVersion
    if (sent && sent !== present?.metadata.resourceVersion) {
      refuse(response, 409, 'Conflict')
      return
    }
    const next = method === 'PATCH' ? { ...present, ...input } : { ...input }
    const uid = present?.metadata.uid ?? `uid-${version}`
    next.metadata = {
      ...present?.metadata,
      ...input.metadata,
      uid,
      resourceVersion: String(++version),
    } as Stored['metadata']
    objects.set(key, next as Stored)
    json(response, method === 'POST' ? 201 : 200, next)
  }
  return { handler, objects }
}
