/**
 * A minimal D-Bus client for NetworkManager, networkd and Netplan: authenticate as root, call a method, read the reply,
 * wait for a signal.
 *
 * Free of dependencies, like the whole agent. Values are plain JavaScript; the signature says how to encode them.
 */
import type { Duplex } from 'node:stream'

export interface Call {
  destination: string
  path: string
  interface: string
  member: string
  signature?: string
  body?: unknown[]
}

export interface Signal {
  sender: string
  path: string
  interface: string
  member: string
}

/** A signal that someone waits for. */
export interface ExpectedSignal {
  /** Rejects after the timeout. */
  received: Promise<void>
  cancel(): void
}

export interface Bus {
  call(call: Call): Promise<unknown[]>
  /** Listens until a signal has an accepted body. Call it before the call that causes the signal. */
  expect(signal: Signal, timeout: number, accepts: (body: unknown[]) => boolean): Promise<ExpectedSignal>
  close(): void
}

/** An error reply, with its D-Bus name. */
export class BusError extends Error {
  readonly errorName: string

  constructor(errorName: string, message: string) {
    super(message)
    this.errorName = errorName
  }
}

/** The service hangs, or a policy of the host drops its reply. */
export class NoReplyError extends Error {}

const methodCall = 1
const methodReturn = 2
const errorReply = 3
const signalMessage = 4
/** NO_AUTO_START: the bus does not start a service that is not running. */
const noAutoStart = 2
const field = { path: 1, interface: 2, member: 3, errorName: 4, replySerial: 5, destination: 6, signature: 8 }
const callTimeout = 10_000

export async function openBus(stream: Duplex): Promise<Bus> {
  await authenticate(stream)
  let serial = 0
  let buffer = Buffer.alloc(0)
  const waiting = new Map<number, { resolve: (body: unknown[]) => void; reject: (error: Error) => void }>()
  const listeners = new Set<(message: Message) => void>()
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  stream.on('error', fail)
  stream.on('close', () => fail(new Error('D-Bus closed the connection')))
  stream.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    for (;;) {
      const message = readMessage(buffer)
      if (!message) return
      buffer = buffer.subarray(message.size)
      if (message.type === signalMessage) for (const listener of listeners) listener(message)
      const call = waiting.get(message.replyTo)
      if (!call) continue
      waiting.delete(message.replyTo)
      if (message.type === errorReply) call.reject(new BusError(message.errorName, String(message.body[0] ?? '')))
      else if (message.type === methodReturn) call.resolve(message.body)
    }
  })
  const call = (request: Call) =>
    new Promise<unknown[]>((resolve, reject) => {
      const own = ++serial
      const timer = setTimeout(() => {
        waiting.delete(own)
        reject(new NoReplyError(`${request.member}: no reply within ${callTimeout / 1000} s`))
      }, callTimeout)
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer)
          then(value)
        }
      waiting.set(own, { resolve: settle(resolve), reject: settle(reject) })
      stream.write(writeCall(request, own))
    })
  const dbus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' }
  await call({ ...dbus, member: 'Hello' })
  const expect: Bus['expect'] = async (signal, timeout, accepts) => {
    const rule = Object.entries({ type: 'signal', ...signal }).map(([key, value]) => `${key}='${value}'`)
    await call({ ...dbus, member: 'AddMatch', signature: 's', body: [rule.join(',')] })
    let cancel = () => {}
    const received = new Promise<void>((resolve, reject) => {
      const listener = ({ path, member, body }: Message) => {
        if (path !== signal.path || member !== signal.member || !accepts(body)) return
        cancel()
        resolve()
      }
      const timer = setTimeout(() => {
        cancel()
        reject(new Error(`${signal.member}: no such signal within ${timeout / 1000} s`))
      }, timeout)
      cancel = () => {
        clearTimeout(timer)
        listeners.delete(listener)
      }
      listeners.add(listener)
    })
    // A caller that fails before it waits leaves the promise alone.
    received.catch(() => {})
    return { received, cancel: () => cancel() }
  }
  return { call, expect, close: () => void stream.destroy() }
}

/** EXTERNAL: the bus gets our uid from the kernel; we only repeat it. */
function authenticate(stream: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex')
    const failed = (error: Error) => reject(error)
    stream.once('error', failed)
    stream.once('data', (reply: Buffer) => {
      stream.off('error', failed)
      if (!reply.toString().startsWith('OK')) return reject(new Error('D-Bus refused the authentication'))
      stream.write('BEGIN\r\n')
      resolve()
    })
    stream.write(`\0AUTH EXTERNAL ${uid}\r\n`)
  })
}

function writeCall(call: Call, serial: number): Buffer {
  const { signature = '', body = [] } = call
  const content = new Writer()
  for (const [index, type] of typesIn(signature).entries()) content.write(type, body[index])
  const header = new Writer()
  for (const byte of [0x6c, methodCall, noAutoStart, 1]) header.write('y', byte)
  header.write('u', content.size)
  header.write('u', serial)
  const fields: [number, [string, unknown]][] = [
    [field.path, ['o', call.path]],
    [field.interface, ['s', call.interface]],
    [field.member, ['s', call.member]],
    [field.destination, ['s', call.destination]],
    ...(signature ? ([[field.signature, ['g', signature]]] as [number, [string, unknown]][]) : []),
  ]
  header.write('a(yv)', fields)
  header.align(8)
  return Buffer.concat([header.bytes(), content.bytes()])
}

interface Message {
  size: number
  type: number
  replyTo: number
  path: string
  member: string
  errorName: string
  body: unknown[]
}

function readMessage(buffer: Buffer): Message | undefined {
  if (buffer.length < 16) return undefined
  const fieldsSize = buffer.readUInt32LE(12)
  const bodyAt = Math.ceil((16 + fieldsSize) / 8) * 8
  const size = bodyAt + buffer.readUInt32LE(4)
  if (buffer.length < size) return undefined
  if (buffer[0] !== 0x6c) throw new Error('D-Bus uses big-endian byte order, which is not supported')
  const fields = new Map(new Reader(buffer.subarray(0, bodyAt), 12).read('a(yv)') as [number, unknown][])
  const reader = new Reader(buffer.subarray(bodyAt, size), 0)
  const body = typesIn(String(fields.get(field.signature) ?? '')).map(type => reader.read(type))
  return {
    size,
    type: buffer[1] ?? 0,
    replyTo: Number(fields.get(field.replySerial) ?? 0),
    path: String(fields.get(field.path) ?? ''),
    member: String(fields.get(field.member) ?? ''),
    errorName: String(fields.get(field.errorName) ?? ''),
    body,
  }
}

/** `sa{sv}u` → `s`, `a{sv}`, `u`. */
export function typesIn(signature: string): string[] {
  const types: string[] = []
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at)
    types.push(signature.slice(at, end))
    at = end
  }
  return types
}

function endOfType(signature: string, at: number): number {
  const first = signature[at]
  if (first === 'a') return endOfType(signature, at + 1)
  if (first !== '(' && first !== '{') return at + 1
  let end = at + 1
  while (signature[end] !== ')' && signature[end] !== '}') end = endOfType(signature, end)
  return end + 1
}

const alignments: Record<string, number> = { y: 1, g: 1, v: 1, n: 2, q: 2, x: 8, t: 8, d: 8, '(': 8, '{': 8 }

function alignmentOf(type: string): number {
  return alignments[type[0] ?? ''] ?? 4
}

class Writer {
  #parts: number[] = []

  get size(): number {
    return this.#parts.length
  }

  bytes(): Buffer {
    return Buffer.from(this.#parts)
  }

  align(to: number): void {
    while (this.#parts.length % to !== 0) this.#parts.push(0)
  }

  write(type: string, value: unknown): void {
    this.align(alignmentOf(type))
    switch (type[0]) {
      case 'y':
        this.#parts.push(Number(value))
        break
      case 'b':
      case 'u':
      case 'i':
        this.#number(Number(value))
        break
      case 's':
      case 'o':
        this.#number(Buffer.byteLength(String(value)))
        this.#parts.push(...Buffer.from(String(value)), 0)
        break
      case 'g':
        this.#parts.push(String(value).length, ...Buffer.from(String(value)), 0)
        break
      case 'v': {
        const [inner, content] = value as [string, unknown]
        this.write('g', inner)
        this.write(inner, content)
        break
      }
      case 'a':
        this.#array(type.slice(1), value as unknown[])
        break
      case '(':
      case '{':
        for (const [index, inner] of typesIn(type.slice(1, -1)).entries())
          this.write(inner, (value as unknown[])[index])
        break
      default:
        throw new Error(`cannot write a value of type ${type}`)
    }
  }

  #array(inner: string, items: readonly unknown[]): void {
    const at = this.#parts.length
    this.#number(0)
    this.align(alignmentOf(inner))
    const start = this.#parts.length
    for (const item of items) this.write(inner, item)
    const size = Buffer.alloc(4)
    size.writeUInt32LE(this.#parts.length - start)
    this.#parts.splice(at, 4, ...size)
  }

  #number(value: number): void {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value >>> 0)
    this.#parts.push(...bytes)
  }
}

class Reader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  read(type: string): unknown {
    this.#align(alignmentOf(type))
    switch (type[0]) {
      case 'y':
        return this.#bytes.readUInt8(this.#take(1))
      case 'b':
        return this.#bytes.readUInt32LE(this.#take(4)) === 1
      case 'n':
        return this.#bytes.readInt16LE(this.#take(2))
      case 'q':
        return this.#bytes.readUInt16LE(this.#take(2))
      case 'i':
        return this.#bytes.readInt32LE(this.#take(4))
      case 'u':
        return this.#bytes.readUInt32LE(this.#take(4))
      case 'x':
        return this.#bytes.readBigInt64LE(this.#take(8))
      case 't':
        return this.#bytes.readBigUInt64LE(this.#take(8))
      case 'd':
        return this.#bytes.readDoubleLE(this.#take(8))
      case 's':
      case 'o':
        return this.#text(this.#bytes.readUInt32LE(this.#take(4)))
      case 'g':
        return this.#text(this.#bytes.readUInt8(this.#take(1)))
      case 'v':
        return this.read(String(this.read('g')))
      case 'a':
        return this.#array(type.slice(1))
      case '(':
      case '{':
        return typesIn(type.slice(1, -1)).map(inner => this.read(inner))
      default:
        throw new Error(`cannot read a value of type ${type}`)
    }
  }

  #array(inner: string): unknown[] {
    const size = this.#bytes.readUInt32LE(this.#take(4))
    this.#align(alignmentOf(inner))
    const end = this.#at + size
    const items: unknown[] = []
    while (this.#at < end) items.push(this.read(inner))
    return items
  }

  #text(length: number): string {
    const start = this.#take(length + 1)
    return this.#bytes.toString('utf8', start, start + length)
  }

  #take(count: number): number {
    const start = this.#at
    this.#at += count
    return start
  }

  #align(to: number): void {
    this.#at = Math.ceil(this.#at / to) * to
  }
}
