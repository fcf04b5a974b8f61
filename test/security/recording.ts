/**
 * Stands between the operator and a cloud, and notes every secret that goes by: encrypted passwords and tokens. Also a
 * collector of traces that keeps what it is told.
 */
import { request } from 'undici'
import { type StandIn, serving } from '../operator/stand-ins.ts'

export interface Recording extends AsyncDisposable {
  /** Stands for Contrabass; sends those who ask to a Keystone at this address too. */
  url: string
  /** Everything that must be seen by nobody else, so far. */
  secrets: Set<string>
}

export async function recordSecrets(contrabass: () => string): Promise<Recording> {
  const secrets = new Set<string>()
  let keystone = ''
  const server = await recorded(async (method, path, body) => {
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
  const server = await recorded(async (_method, _path, body) => {
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

function recorded(answer: Answer): Promise<StandIn> {
  return serving(async (asked, response, body) => {
    const method = asked.method === 'POST' ? 'POST' : 'GET'
    try {
      const { status, text, headers } = await answer(method, asked.url ?? '/', body)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    } catch {
      response.destroy()
    }
  })
}
