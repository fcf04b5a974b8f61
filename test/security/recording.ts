/**
 * Stands between the operator and a cloud, and notes every secret that goes by: encrypted passwords and tokens. Also a
 * collector of traces that keeps what it is told.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

export interface Recording extends AsyncDisposable {
  /** Stands for Contrabass; sends those who ask to a Keystone at this address too. */
  url: string
  /** Everything that must be seen by nobody else, so far. */
  secrets: Set<string>
}

export async function recordSecrets(contrabass: () => string): Promise<Recording> {
  const secrets = new Set<string>()
  let keystone = ''
  const server = await serving(async (method, path, body) => {
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
    const said = (await answer.body.json()) as { data?: { url: string; attributes: Record<string, unknown> } }
    if (said.data) {
      keystone = new URL(said.data.url).origin
      said.data.url = `${server.url}/v3`
      for (const name of ['adminPw', 'rabbitMQPw']) {
        const value = said.data.attributes[name]
        if (typeof value === 'string') secrets.add(value)
      }
    }
    return { status: answer.statusCode, text: JSON.stringify(said), headers: {} }
  })
  return { url: server.url, secrets, [Symbol.asyncDispose]: server.close }
}

export interface Collector extends AsyncDisposable {
  url: string
  told: string[]
}

export async function collectTraces(): Promise<Collector> {
  const told: string[] = []
  const server = await serving(async (_method, _path, body) => {
    told.push(body)
    return { status: 200, text: '{}', headers: {} }
  })
  return { url: server.url, told, [Symbol.asyncDispose]: server.close }
}

type Answer = (
  method: 'GET' | 'POST',
  path: string,
  body: string,
) => Promise<{ status: number; text: string; headers: Record<string, string> }>

async function serving(answer: Answer): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (asked, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    const method = asked.method === 'POST' ? 'POST' : 'GET'
    try {
      const { status, text, headers } = await answer(method, asked.url ?? '/', Buffer.concat(chunks).toString())
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
