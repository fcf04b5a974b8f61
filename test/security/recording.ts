/**
 * A proxy between the operator and a cloud that records every secret in the traffic: encrypted passwords and tokens. Also a
 * collector that keeps the traces that it receives.
 */
import { request } from 'undici'
import { type Stub, startHttpServer } from '../operator/benchmark-stubs.ts'

export interface Recording extends AsyncDisposable {
  /** Address of Contrabass and Keystone for the operator. */
  url: string
  /** The recorded secrets so far. */
  secrets: Set<string>
}

export async function recordSecrets(contrabass: () => string): Promise<Recording> {
  const secrets = new Set<string>()
  let keystone = ''
  const server = await startServer(async (method, path, body) => {
    if (path.startsWith('/v3/')) {
      const answer = await request(`${keystone}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body,
      })
      const token = answer.headers['x-subject-token']
      if (typeof token === 'string') secrets.add(token)
      const more = typeof token === 'string' ? { 'x-subject-token': token } : {}
      return { status: answer.statusCode, text: await answer.body.text(), headers: more }
    }
    const answer = await request(`${contrabass()}${path}`)
    const provider = (await answer.body.json()) as { data?: { url: string; attributes: Record<string, unknown> } }
    if (provider.data) {
      keystone = new URL(provider.data.url).origin
      provider.data.url = `${server.url}/v3`
      for (const name of ['adminPw', 'rabbitMQPw']) {
        const value = provider.data.attributes[name]
        if (typeof value === 'string') secrets.add(value)
      }
    }
    return { status: answer.statusCode, text: JSON.stringify(provider), headers: {} }
  })
  return { url: server.url, secrets, [Symbol.asyncDispose]: server.close }
}

export interface Collector extends AsyncDisposable {
  url: string
  bodies: string[]
}

export async function collectTraces(): Promise<Collector> {
  const bodies: string[] = []
  const server = await startServer(async (_method, _path, body) => {
    bodies.push(body)
    return { status: 200, text: '{}', headers: {} }
  })
  return { url: server.url, bodies, [Symbol.asyncDispose]: server.close }
}

type Handler = (
  method: 'GET' | 'POST',
  path: string,
  body: string,
) => Promise<{ status: number; text: string; headers: Record<string, string> }>

function startServer(handler: Handler): Promise<Stub> {
  return startHttpServer(async (request, response, body) => {
    const method = request.method === 'POST' ? 'POST' : 'GET'
    try {
      const { status, text, headers } = await handler(method, request.url ?? '/', body)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    } catch {
      response.destroy()
    }
  })
}
