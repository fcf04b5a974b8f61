/**
 * A message bus that accepts every account and delivers hostile notifications. The virtual host names the case.
 *
 * Its frames are written by hand: a real broker would refuse to send most of them.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface HostileBus extends AsyncDisposable {
  /** The URL of the bus that delivers this notification. */
  add(name: string, notification: Notification): string
  /** Resolves when the operator has acknowledged the notification or ended the session. */
  handled(name: string): Promise<void>
}

/** Writes the frames of one message to a channel. */
export type Notification = (send: (frame: Buffer) => void, message: Frames) => void

interface Frames {
  deliver: Buffer
  header(size: bigint, contentType?: string): Buffer
  body(content: Buffer): Buffer
}

const frameBytes = 8_192 - 8

export const notifications: Record<string, Notification> = {
  'an empty message': whole(() => ''),
  'empty objects, 900 KiB': whole(() => `{"a":[${'{},'.repeat(300_000)}{}]}`),
  'empty objects, 100 MiB': whole(() => `{"a":[${'{},'.repeat(35_000_000)}{}]}`),
  'nested lists, 900 KiB': whole(() => '['.repeat(900_000)),
  'nested lists inside of the envelope': whole(() => JSON.stringify({ 'oslo.message': '['.repeat(400_000) })),
  'empty objects inside of the envelope': whole(() =>
    JSON.stringify({ 'oslo.message': `[${'{},'.repeat(300_000)}{}]` }),
  ),
  'bytes that are not UTF-8': whole(() => Buffer.from('{"event_type":"\xff\xfe\xc0"}', 'latin1')),
  'control characters in every text': whole(() => notification('\u0000\u001b[31m\n\r\u0007')),
  'right-to-left marks in every text': whole(() => notification('\u202egnp.exe\u2066')),
  'keys of the prototype': whole(
    () => '{"event_type":"port.create.end","__proto__":{"x":1},"payload":{"port":{"__proto__":[]}}}',
  ),
  'ten thousand ports': whole(() => {
    const ports = Array.from({ length: 10_000 }, (_, n) => ({ id: `port-${n}`, device_id: 'x' }))
    return JSON.stringify({ event_type: 'port.create.end', payload: { ports } })
  }),
  HTML: whole(() => '<html></html>'),
  'a size of an exabyte': (send, { deliver, header }) => [deliver, header(2n ** 60n)].forEach(send),
  'a size of 300 MiB, and half of it': (send, { deliver, header, body }) => {
    for (const frame of [deliver, header(300n * 1024n * 1024n)]) send(frame)
    const piece = body(Buffer.alloc(frameBytes, 0x20))
    for (let sent = 0; sent < 150 * 1024 * 1024; sent += frameBytes) send(piece)
    send(Buffer.from('no frame'))
  },
  'a body without a header': (send, { body }) => send(body(Buffer.from('x'))),
  'two headers': (send, { deliver, header }) => [deliver, header(5n), header(5n)].forEach(send),
  'ten thousand messages': (send, frames) => {
    for (let sent = 0; sent < 10_000; sent++) whole(() => notification(`port-${sent}`))(send, frames)
  },
}

function notification(text: string): string {
  const payload = { port: { id: text, device_id: text, name: text }, display_name: text }
  return JSON.stringify({ event_type: 'port.create.end', timestamp: text, publisher_id: text, payload })
}

function whole(text: () => string | Buffer): Notification {
  return (send, { deliver, header, body }) => {
    const content = Buffer.from(text() as string)
    send(deliver)
    send(header(BigInt(content.length), 'application/json'))
    for (let at = 0; at < content.length; at += frameBytes) send(body(content.subarray(at, at + frameBytes)))
  }
}

export async function startHostileBus(): Promise<HostileBus> {
  const cases = new Map<string, { notification: Notification; handled: PromiseWithResolvers<void> }>()
  const sockets = new Set<Socket>()
  // The frames of a message are small: with Nagle's algorithm the second would wait for the acknowledgement of the first.
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    serveBus(socket, name => cases.get(name))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    add(name, notification) {
      cases.set(name, { notification, handled: Promise.withResolvers() })
      return `amqp://127.0.0.1:${port}/${name}`
    },
    handled: async name => cases.get(name)?.handled.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

type FindCase = (name: string) => { notification: Notification; handled: PromiseWithResolvers<void> } | undefined

/** Class and method of a request, and those of the answer with its arguments. */
function answersOf(args: Buffer): Record<string, [number, number, Buffer]> {
  return {
    '10.11': [10, 30, Buffer.alloc(8)],
    '10.40': [10, 41, text8('')],
    '10.50': [10, 51, Buffer.alloc(0)],
    '20.10': [20, 11, Buffer.alloc(4)],
    '20.40': [20, 41, Buffer.alloc(0)],
    '50.10': [50, 11, Buffer.concat([text8('queue'), Buffer.alloc(8)])],
    '50.20': [50, 21, Buffer.alloc(0)],
    '60.10': [60, 11, Buffer.alloc(0)],
    '60.20': [60, 21, text8(consumerTagOf(args))],
  }
}

function serveBus(socket: Socket, find: FindCase): void {
  let received = Buffer.alloc(0)
  let current: ReturnType<FindCase>
  socket.once('close', () => current?.handled.resolve())
  socket.once('data', () => {
    // The protocol header of the client. A table without entries, the mechanism and the locale follow the version.
    const start = Buffer.concat([Buffer.from([0, 9]), Buffer.alloc(4), text32('PLAIN'), text32('en_US')])
    socket.write(method(0, 10, 10, start))
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 8) {
        const end = received.readUInt32BE(3) + 8
        if (received.length < end) return
        onFrame(received.subarray(0, end))
        received = received.subarray(end)
      }
    })
  })

  function onFrame(frame: Buffer): void {
    if (frame[0] !== 1) return
    const [channel, name] = [frame.readUInt16BE(1), `${frame.readUInt16BE(7)}.${frame.readUInt16BE(9)}`]
    const args = frame.subarray(11)
    if (name === '10.40') current = find(args.subarray(1, 1 + (args[0] ?? 0)).toString('utf8'))
    if (name === '60.80') current?.handled.resolve()
    const answer = answersOf(args)[name]
    if (answer) socket.write(method(channel, ...answer))
    if (name === '60.20') current?.notification(one => void socket.write(one), framesOf(channel, consumerTagOf(args)))
  }
}

function framesOf(channel: number, tag: string): Frames {
  const delivery = Buffer.concat([text8(tag), Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 0]), text8('nova'), text8('n.info')])
  return {
    deliver: method(channel, 60, 60, delivery),
    header(size, contentType = '') {
      const head = Buffer.alloc(14)
      head.writeUInt16BE(60, 0)
      head.writeBigUInt64BE(size, 4)
      head.writeUInt16BE(0x8000, 12)
      return frame(2, channel, Buffer.concat([head, text8(contentType)]))
    },
    body: content => frame(3, channel, content),
  }
}

/** After two reserved bytes and the name of the queue. */
function consumerTagOf(args: Buffer): string {
  const at = 3 + (args[2] ?? 0)
  return args.subarray(at + 1, at + 1 + (args[at] ?? 0)).toString('utf8')
}

function method(channel: number, classId: number, methodId: number, args: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(classId, 0)
  head.writeUInt16BE(methodId, 2)
  return frame(1, channel, Buffer.concat([head, args]))
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7)
  head.writeUInt8(type, 0)
  head.writeUInt16BE(channel, 1)
  head.writeUInt32BE(payload.length, 3)
  return Buffer.concat([head, payload, Buffer.from([0xce])])
}

function text8(text: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)])
}

function text32(text: string): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(Buffer.byteLength(text))
  return Buffer.concat([size, Buffer.from(text)])
}
