/**
 * A stub HTTP server: the test provides the responses, and the server records the requests.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface StubRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
  /** Number of earlier requests to this path. */
  previous: number
}

export interface StubResponse {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** Closes the connection instead of responding, or in the middle of the body. */
  cut?: boolean | 'body'
  /** Never responds. */
  hang?: boolean
}

export interface StubServer extends AsyncDisposable {
  url: string
  requests: StubRequest[]
}

export async function startStubServer(respond: (request: StubRequest) => StubResponse): Promise<StubServer> {
  const requests: StubRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const url = new URL(request.url ?? '/', 'http://stub')
    const received: StubRequest = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      previous: requests.filter(({ path }) => path === url.pathname).length,
    }
    requests.push(received)
    const { status, body, headers = {}, cut, hang } = respond(received)
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
    requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
