/**
 * A small real HTTP server whose answers the test writes, and which remembers what it was asked.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
  /** How often this path was asked before. */
  before: number
}

export interface Answered {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** Cuts the connection instead of answering, or in the middle of the body. */
  cut?: boolean | 'body'
  /** Never answers. */
  hang?: boolean
}

export interface Answering extends AsyncDisposable {
  url: string
  asked: Asked[]
}

export async function answering(answer: (asked: Asked) => Answered): Promise<Answering> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const at = new URL(request.url ?? '/', 'http://here')
    const one: Asked = {
      method: request.method ?? '',
      path: at.pathname,
      query: at.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      before: asked.filter(({ path }) => path === at.pathname).length,
    }
    asked.push(one)
    const { status, body, headers = {}, cut, hang } = answer(one)
    if (hang) return
    if (cut === true) return void request.socket.destroy()
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, { ...(text !== '' && { 'content-type': 'application/json' }), ...headers })
    if (cut !== 'body') return void response.end(text)
    response.write(text.slice(0, Math.ceil(text.length / 2)), () => request.socket.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
