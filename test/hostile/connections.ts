/**
 * Hostile bytes on a connection, below what an HTTP library would send: answers of a cloud, and requests to a server.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const ok = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const empty = `${ok}content-length: 2\r\n\r\n{}`

async function flood(socket: Socket, unit: string, times: number): Promise<void> {
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  for (let sent = 0; sent < times && !socket.destroyed; sent++)
    if (!socket.write(unit)) await once(socket, 'drain', { signal: closed.signal }).catch(() => {})
}

export const answers: Record<string, (socket: Socket) => Promise<void> | void> = {
  'a second answer that nobody asked for': socket => void socket.write(empty + empty.repeat(1_000)),
  'a length and chunks': socket =>
    void socket.end(`${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n0\r\n\r\n`),
  'two lengths': socket => void socket.end(`${ok}content-length: 2\r\ncontent-length: 200\r\n\r\n{}`),
  'a negative length': socket => void socket.end(`${ok}content-length: -1\r\n\r\n{}`),
  'a length of an exabyte': socket => void socket.end(`${ok}content-length: 1152921504606846976\r\n\r\n{}`),
  'a chunk of an exabyte': socket => void socket.end(`${ok}transfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n{}`),
  'chunk extensions without an end': async socket => {
    socket.write(`${ok}transfer-encoding: chunked\r\n\r\n1`)
    await flood(socket, `;${'x'.repeat(65_536)}`, 500)
  },
  'a header of a megabyte': socket => void socket.end(`${ok}x-subject-token: ${'x'.repeat(1024 * 1024)}\r\n\r\n{}`),
  'headers without an end': async socket => {
    socket.write(ok)
    await flood(socket, 'x: y\r\n'.repeat(1_000), 10_000)
  },
  '100 Continue without an end': socket => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100), 10_000),
  'a redirect to itself': socket => void socket.end('HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n'),
  'a redirect to a file': socket =>
    void socket.end('HTTP/1.1 301 x\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n'),
  '401 to everything': socket => void socket.end('HTTP/1.1 401 x\r\ncontent-length: 2\r\n\r\n{}'),
  '429 for a thousand years': socket =>
    void socket.end('HTTP/1.1 429 x\r\nretry-after: 31556952000\r\ncontent-length: 2\r\n\r\n{}'),
  'a status of 999': socket => void socket.end('HTTP/1.1 999 x\r\ncontent-length: 2\r\n\r\n{}'),
  'no HTTP at all': socket => void socket.end(Buffer.alloc(100_000, 0xff)),
  'a closed connection': socket => void socket.destroy(),
}

export interface Target {
  host: string
  port: number
  path: string
  headers: string
}

const post = ({ path, headers }: Target) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\n${headers}content-type: application/json\r\n`

export const requests: Record<string, (socket: Socket, target: Target) => Promise<void> | void> = {
  'a length and chunks': (socket, target) =>
    void socket.write(
      `${post(target)}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nhost: x\r\n\r\n`,
    ),
  'two lengths': (socket, target) =>
    void socket.write(`${post(target)}content-length: 2\r\ncontent-length: 3\r\n\r\n[]`),
  'a length of an exabyte': (socket, target) =>
    void socket.write(`${post(target)}content-length: 1152921504606846976\r\n\r\n[]`),
  'a chunk of an exabyte': (socket, target) =>
    void socket.write(`${post(target)}transfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n[]`),
  'chunk extensions without an end': async (socket, target) => {
    socket.write(`${post(target)}transfer-encoding: chunked\r\n\r\n1`)
    await flood(socket, `;${'x'.repeat(65_536)}`, 500)
  },
  'headers without an end': async (socket, target) => {
    socket.write(post(target))
    await flood(socket, 'x: y\r\n'.repeat(1_000), 10_000)
  },
  'ten thousand requests at once': async (socket, { path }) => {
    await flood(socket, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(100), 100)
  },
  'a request line of a megabyte': (socket, { path }) =>
    void socket.write(`GET ${path}?${'x'.repeat(1024 * 1024)} HTTP/1.1\r\nhost: x\r\n\r\n`),
  'a body that never comes': (socket, target) => void socket.write(`${post(target)}content-length: 1000\r\n\r\n`),
  'a TLS handshake': socket => void socket.write(Buffer.from('160301020001000001fc0303', 'hex')),
  'no HTTP at all': socket => void socket.write(Buffer.alloc(100_000, 0xff)),
}

/** Sends a request and waits until the server answers or closes, at most for a while. */
export async function sendRaw(target: Target, send: (typeof requests)[string], withinMs: number): Promise<void> {
  const socket = connect(target.port, target.host)
  socket.on('error', () => {})
  const ended = AbortSignal.timeout(withinMs)
  const answered = Promise.race([once(socket, 'data', { signal: ended }), once(socket, 'close', { signal: ended })])
  try {
    await Promise.all([answered.catch(() => {}), send(socket, target)])
  } finally {
    socket.destroy()
  }
}
