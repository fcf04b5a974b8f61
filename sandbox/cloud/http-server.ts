/**
 * HTTP server of one cloud service: JSON responses, the limit of the request line, response faults, and a count of calls.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { type AsyncHandler, bodyText, type CloudRequest, type CloudResponse, type Handler } from './messages.ts'
import { activeResponseFault, sendFaultyResponse, slowMs } from './response-faults.ts'
import type { CloudState, Service } from './state.ts'

export interface CloudServer {
  url: string
  calls(): number
  close(): Promise<void>
}

export interface HttpServerOptions {
  service: Service
  cloudState: CloudState
  handler: Handler | AsyncHandler
  /** Body of a 500 response of this service. */
  internalError: unknown
  log: Log
  /** An address of this machine; default is the loopback address. */
  host?: string
}

/** As in eventlet: method, target, version and CRLF must be shorter than its buffer. */
const requestLineLimit = 8192

export async function startHttpServer(options: HttpServerOptions): Promise<CloudServer> {
  const { service, cloudState, log, host = '127.0.0.1' } = options
  let calls = 0
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', httpVersion } = incoming
    const body = await readBody(incoming)
    const fault = activeResponseFault(cloudState.faults, service)
    if (fault === 'silent') return
    if (fault === 'slow') await sleep(slowMs)
    if (`${method} ${url} HTTP/${httpVersion}\r\n`.length >= requestLineLimit) {
      outgoing.writeHead(414, { connection: 'close', 'content-length': '0' }).end()
      return
    }
    const base = `http://${incoming.headers.host ?? 'localhost'}`
    const [rawPath = '', search = ''] = url.split(/\?(.*)/s)
    const path = rawPath.replace(/(?<=.)\/+$/, '')
    const request = { method, base, path, query: new URLSearchParams(search), headers: incoming.headers, body }
    const response =
      fault === 'failing' ? { status: 500, body: options.internalError } : await responseTo(options, request)
    if (fault && sendFaultyResponse(fault, response, outgoing)) return
    log.debug('answered', { service, method, path, status: response.status })
    const payload = bodyText(response.body)
    outgoing
      .writeHead(response.status, {
        'content-type': 'application/json',
        date: cloudState.now().toUTCString(),
        'content-length': String(Buffer.byteLength(payload)),
        ...(service !== 'contrabass' && { 'x-openstack-request-id': `req-${randomUUID()}` }),
        ...response.headers,
      })
      .end(payload)
  }
  const server = createServer({ maxHeaderSize: 512 * 1024, keepAliveTimeout: 30_000 }, (incoming, outgoing) => {
    calls++
    // A client that disconnects in the middle of a request must not end the sandbox.
    respond(incoming, outgoing).catch(error => {
      log.debug('request aborted', { service, error })
      outgoing.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://${host}:${port}`, calls: () => calls, close: () => closeServer(server) }
}

async function responseTo(
  { handler, internalError, service, log }: HttpServerOptions,
  request: CloudRequest,
): Promise<CloudResponse> {
  if (!isDecodable(request.path)) return { status: 400 }
  try {
    return await handler(request)
  } catch (error) {
    log.error('request failed', { service, path: request.path, error })
    return { status: 500, body: internalError }
  }
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function closeServer(server: HttpServer): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
