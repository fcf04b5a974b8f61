/**
 * Port-forward over a WebSocket with the protocol v4.channel.k8s.io: a connection to the address of the Pod. `kubectl` uses
 * another protocol, which this server does not speak.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { apiAudience } from '../access/account-tokens.ts'
import { isAllowed } from '../access/rbac.ts'
import {
  type ApiError,
  forbidden,
  isHinted,
  noSuchResource,
  notFound,
  notInSandbox,
  unauthorized,
} from '../api-errors.ts'
import { recordOf, textOf } from '../json.ts'
import type { HandlerOptions } from './context.ts'

const pods = { group: '', plural: 'pods', kind: 'Pod' }
const protocol = 'v4.channel.k8s.io'
const [dataChannel, errorChannel] = [0, 1]
const [binary, closing] = [2, 8]

export function servePortForward({ cluster, tokens }: HandlerOptions) {
  return (request: IncomingMessage, client: Duplex) => {
    client.on('error', () => client.destroy())
    const url = new URL(request.url ?? '/', 'https://here')
    const [found, namespace = '', name = '', subresource = ''] =
      /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/([a-z]+)$/.exec(url.pathname) ?? []
    const holder = tokens.holderOf(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '')
    if (!holder?.audiences.includes(apiAudience)) return refuse(client, unauthorized())
    if (!found || !isHinted(subresource)) return refuse(client, noSuchResource())
    const right = { verb: 'get', group: '', resource: 'pods', subresource, namespace, name }
    if (!isAllowed(cluster.store, holder.user, right))
      return refuse(client, forbidden(pods, name, `no permission for pods/${subresource}`))
    const pod = cluster.store.get('/pods', namespace, name)
    if (!pod) return refuse(client, notFound(pods, name))
    const speaks = (request.headers['sec-websocket-protocol'] ?? '').split(/, */).includes(protocol)
    if (subresource !== 'portforward' || !speaks)
      return refuse(client, notInSandbox(subresource, textOf(recordOf(pod['spec'])['nodeName'])))
    const address = textOf(recordOf(pod['status'])['podIP'])
    if (!address) return refuse(client, notFound(pods, name))
    const port = Number(url.searchParams.get('ports'))
    accept(client, String(request.headers['sec-websocket-key']))
    for (const channel of [dataChannel, errorChannel])
      client.write(frame(channel, Buffer.from([port & 255, port >> 8])))
    forward(client, connect({ host: address, port }))
  }
}

function forward(client: Duplex, pod: Socket): void {
  let rest: Buffer = Buffer.alloc(0)
  pod.on('data', bytes => client.write(frame(dataChannel, bytes)))
  pod.on('error', error => client.write(frame(errorChannel, Buffer.from(error.message))))
  pod.on('close', () => client.end(Buffer.from([0x80 | closing, 0])))
  client.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (let next = messageIn(rest); next; next = messageIn(rest)) {
      rest = rest.subarray(next.length)
      if (next.kind === closing) pod.end()
      else pod.write(next.payload.subarray(1))
    }
  })
  client.on('close', () => pod.destroy())
}

function accept(client: Duplex, key: string): void {
  const digest = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  const headers = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${digest}`]
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  )
}

function refuse(client: Duplex, { status }: ApiError): void {
  const body = JSON.stringify(status)
  const headers = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, 'connection: close']
  client.end(`HTTP/1.1 ${status.code} Refused\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}

function frame(channel: number, bytes: Buffer): Buffer {
  const length = bytes.length + 1
  const head = length < 126 ? Buffer.from([0x80 | binary, length]) : Buffer.alloc(10)
  if (length >= 126) {
    head[0] = 0x80 | binary
    head[1] = 127
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([head, Buffer.from([channel]), bytes])
}

/** The first complete frame. Frames of a client are masked. */
function messageIn(bytes: Buffer): { kind: number; payload: Buffer; length: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 127
  const head = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < head + 4) return undefined
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  if (bytes.length < head + 4 + size) return undefined
  const mask = bytes.subarray(head, head + 4)
  const payload = Buffer.from(bytes.subarray(head + 4, head + 4 + size)).map((byte, at) => byte ^ (mask[at % 4] ?? 0))
  return { kind: (bytes[0] ?? 0) & 15, payload: Buffer.from(payload), length: head + 4 + size }
}
