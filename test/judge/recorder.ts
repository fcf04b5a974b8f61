/**
 * Records every request of the judged operator: a proxy in front of each fake, which can also fail. Requests wait until the
 * operator has sent all that it can send, and are then handled one after the other in the order of their text: the order in
 * which concurrent requests reach the machine decides nothing.
 *
 * Two runs are compared after these normalisations, and no others:
 * - host and port of a fake become its name: the ports of the machine are random;
 * - UIDs and resource versions of the simulated API server become `<uid>` and `<version>`: its random numbers and the order of
 *   writes to different objects;
 * - the hash in the name of an Event becomes `<hash>`: it contains the UID of the object;
 * - the parameters of a query are sorted: the order in which several objects ask for their servers is that of their syncs;
 * - trace IDs and request IDs become `<trace>`: they are random.
 * Times need none: the clock stands still while a side works (clock.ts).
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request that left the operator. */
export interface Sent {
  service: string
  method: string
  path: string
  body: string
  status: number | string
}

export type Fault = 'down' | 'unavailable' | 'forbidden' | 'conflict' | 'lost'

/** When to kill the operator: at the first such write, before or after the fake has handled it. */
export interface Trigger {
  write: RegExp
  when: 'before' | 'after'
  fire: () => void
}

export interface Recorder extends AsyncDisposable {
  /** The address under which the operator knows the service. */
  add(service: string, upstream: string): Promise<string>
  /** The same for the message bus, whose bytes are not recorded. */
  addBus(upstreamPort: number): Promise<{ port: number; cut(): void }>
  /** What left since the last call. */
  take(): Sent[]
  normalised(text: string): string
  /** Handles the next waiting request. Returns whether there is one. */
  handleNext(): boolean
  /** Changes with every request and answer. */
  activity(): number
  /** Services that have not answered yet. */
  unanswered(): string[]
  /** Another address that becomes a name. */
  name(address: string, name: string): void
  faults: Map<string, Fault>
  trigger: Trigger | undefined
  /** Services whose streams end now. */
  cutStreams(service: string): void
}

const volatile: [RegExp, string][] = [
  [/[0-9a-f]{8}-(?!0000-4000-8000)[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/("resourceVersion":)"\d+"/g, '$1"<version>"'],
  [/([?&]resourceVersion=)\d+/g, '$1<version>'],
  [/\b00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\b/g, '<trace>'],
]
const eventName = /(?<=\.)[0-9a-f]{16}\b/g

function sorted(url: string): string {
  const [path = '', query] = url.split('?')
  return query === undefined ? path : `${path}?${query.split('&').sort().join('&')}`
}

export function createRecorder(): Recorder {
  let sent: Sent[] = []
  let activity = 0
  const names = new Map<string, string>()
  const conflicted = new Set<string>()
  const open = new Set<Sent>()
  const waiting = new Map<string, (() => void)[]>()
  const streams = new Map<string, Set<ServerResponse>>()
  const agent = new Agent({ keepAlive: true, keepAliveMsecs: 60_000, maxSockets: 200 })
  const closing: (() => void)[] = [() => agent.destroy()]
  /** Address of the fake, and of its proxy. */
  const addresses: [string, string][] = []

  function normalised(text: string): string {
    let result = text
    for (const [address, name] of names) result = result.replaceAll(address, name)
    for (const [pattern, to] of volatile) result = result.replace(pattern, to)
    return result
  }

  async function handle(service: string, upstream: string, incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method = 'GET', url = '/', headers } = incoming
    activity++
    const body = await buffer(incoming)
    const isWrite = method !== 'GET'
    const of = headers['x-provider-id']
    const type = isWrite && headers['content-type']?.replace('application/', '')
    const path = normalised(
      [sorted(url), of && ` [${String(of)}]`, type && type !== 'json' && ` (${type})`].filter(Boolean).join(''),
    )
    const isEvent = service === 'kubernetes' && path.includes('/events')
    const text = normalised(body.toString('utf8'))
    const entry: Sent = {
      ...{ service, method, status: 'no answer' },
      path: isEvent ? path.replace(eventName, '<hash>') : path,
      body: isEvent ? text.replace(eventName, '<hash>') : text,
    }
    sent.push(entry)
    const key = [service, method, entry.path, entry.body].join(' ')
    await new Promise<void>(resolve => waiting.set(key, [...(waiting.get(key) ?? []), resolve]))
    if (outgoing.destroyed) return
    open.add(entry)
    activity++
    const done = (status: number | string) => {
      open.delete(entry)
      entry.status = status
      activity++
    }
    outgoing.on('close', () => {
      open.delete(entry)
      activity++
    })
    const kill = (when: Trigger['when']) => {
      const { trigger } = recorder
      if (!isWrite || trigger?.when !== when || !trigger.write.test(key)) return false
      recorder.trigger = undefined
      trigger.fire()
      return true
    }
    if (kill('before')) return outgoing.destroy()
    const fault = recorder.faults.get(service)
    const fail = (status: number, reason: string) => {
      const message = `the judge answers ${status}`
      const answer = {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason,
        code: status,
        message,
      }
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      done(status)
    }
    if (fault === 'down') {
      done('down')
      return outgoing.destroy()
    }
    if (fault === 'unavailable') return fail(503, 'ServiceUnavailable')
    if (fault === 'forbidden' && isWrite) return fail(403, 'Forbidden')
    const object = `${service} ${path}`
    if (fault === 'conflict' && ['PUT', 'PATCH'].includes(method) && !conflicted.has(object)) {
      conflicted.add(object)
      return fail(409, 'Conflict')
    }
    const forwarded = request(`${upstream}${url}`, {
      method,
      agent,
      headers: { ...headers, host: new URL(upstream).host },
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    forwarded.end(body)
    forwarded.on('response', async answer => {
      const { statusCode = 502, headers: given } = answer
      const isStream = given['content-type']?.includes('event-stream') || /[?&]watch=(1|true)/.test(url)
      const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = given
      if (isStream) {
        done(statusCode)
        const ofService = streams.get(service) ?? new Set()
        streams.set(service, ofService.add(outgoing))
        outgoing.on('close', () => ofService.delete(outgoing))
        outgoing.writeHead(statusCode, kept).flushHeaders()
        answer.on('data', () => activity++).on('error', () => outgoing.destroy())
        return void answer.pipe(outgoing)
      }
      try {
        let whole = (await buffer(answer)).toString('utf8')
        if (kill('after')) return outgoing.destroy()
        if (fault === 'lost' && isWrite) {
          done('lost')
          return outgoing.destroy()
        }
        for (const [from, to] of addresses) whole = whole.replaceAll(from, to)
        const length = given['content-length'] === undefined ? {} : { 'content-length': Buffer.byteLength(whole) }
        outgoing.writeHead(statusCode, { ...kept, ...length }).end(whole)
        done(statusCode)
      } catch {
        done('cut off')
        outgoing.destroy()
      }
    })
  }

  const recorder: Recorder = {
    async add(service, upstream) {
      const server = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (incoming, outgoing) => {
        handle(service, upstream, incoming, outgoing).catch(() => outgoing.destroy())
      })
      closing.push(() => {
        server.closeAllConnections()
        server.close()
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      addresses.push([upstream, url])
      for (const address of [upstream, url]) names.set(address, `http://${service}`).set(address.slice(7), service)
      return url
    },
    async addBus(upstreamPort) {
      const sockets = new Set<Socket>()
      const server = createTcpServer({ noDelay: true }, socket => {
        const upstream = connect({ port: upstreamPort, host: '127.0.0.1', noDelay: true })
        for (const [from, to] of [[socket, upstream] as const, [upstream, socket] as const]) {
          sockets.add(from)
          from.on('data', () => activity++).on('error', () => {})
          from.on('close', () => {
            activity++
            sockets.delete(from)
            to.destroy()
          })
          from.pipe(to)
        }
      })
      const cut = () => sockets.forEach(socket => void socket.destroy())
      closing.push(() => {
        cut()
        server.close()
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      return { port: (server.address() as AddressInfo).port, cut }
    },
    take() {
      const taken = sent
      sent = []
      conflicted.clear()
      return taken
    },
    normalised,
    handleNext() {
      const [next] = [...waiting].sort(([a], [b]) => (a < b ? -1 : 1))
      if (!next) return false
      const [key, [first, ...others]] = next
      if (others.length > 0) waiting.set(key, others)
      else waiting.delete(key)
      first?.()
      return true
    },
    activity: () => activity,
    unanswered: () => [...open].map(({ service }) => service),
    name: (address, name) => void names.set(address, name),
    faults: new Map(),
    trigger: undefined,
    cutStreams(service) {
      for (const stream of streams.get(service) ?? []) stream.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const close of closing) close()
    },
  }
  return recorder
}
