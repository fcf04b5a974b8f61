/**
 * A collector of traces that answers every export in another hostile way. Components send to a path of their own.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Body, bodies } from './bodies.ts'
import { answers } from './connections.ts'

export interface HostileCollector extends AsyncDisposable {
  url: string
  /** Hostile answers so far. Repetitions do not count. */
  tried(): number
}

const hostile = [
  ...Object.values(bodies).map((body): { body: Body } => ({ body })),
  ...Object.values(answers).map(raw => ({ raw })),
]
const expected = { head: '{"partialSuccess":[', tail: ']}', entry: () => ({ rejectedSpans: 1, errorMessage: 'x' }) }

export async function startHostileCollector(): Promise<HostileCollector> {
  const exportsOf = new Map<string, number>()
  const server = createServer((request, response) => {
    const count = exportsOf.get(request.url ?? '') ?? 0
    exportsOf.set(request.url ?? '', count + 1)
    const answer = hostile[count % hostile.length]
    request.resume()
    response.on('error', () => {})
    if (!answer) return
    if ('raw' in answer) return void answer.raw(request.socket)
    response.writeHead(200, { 'content-type': 'application/json' })
    void answer.body(response, expected)
  })
  server.on('connection', socket => socket.on('error', () => {}))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tried: () => [...exportsOf.values()].reduce((sum, count) => sum + Math.min(count, hostile.length), 0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
