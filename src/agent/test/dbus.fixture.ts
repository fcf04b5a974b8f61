/**
 * A D-Bus daemon for tests: a stream that replies to calls with prepared messages.
 */
import { Duplex } from 'node:stream'

/** A bus that accepts the authentication, replies to each call with the next message, and keeps what it received. */
export function busWith(replies: Buffer[]): { stream: Duplex; sent: Buffer[] } {
  const sent: Buffer[] = []
  let authenticated = false
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const text = chunk.toString('latin1')
      if (text.startsWith('\0AUTH')) this.push('OK 1234\r\n')
      else if (text === 'BEGIN\r\n') authenticated = true
      else if (authenticated) {
        sent.push(chunk)
        const next = replies.shift()
        // In two chunks: a message may be split anywhere.
        if (next) for (const part of [next.subarray(0, 7), next.subarray(7)]) this.push(part)
      }
      done()
    },
  })
  return { stream, sent }
}

/** A method return (2) or error (3) to a serial: fields REPLY_SERIAL, ERROR_NAME and SIGNATURE, body one text or boolean. */
export function reply(type: number, serial: number, value: string | boolean, errorName?: string): Buffer {
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return bytes
  }
  const pad = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)])
  const string = (text: string) => Buffer.concat([u32(text.length), Buffer.from(`${text}\0`)])
  let fields = Buffer.concat([Buffer.from([5, 1]), Buffer.from('u\0'), u32(serial)])
  fields = Buffer.concat([
    pad(fields),
    Buffer.from([8, 1]),
    Buffer.from('g\0'),
    Buffer.from([1]),
    Buffer.from(typeof value === 'string' ? 's\0' : 'b\0'),
  ])
  if (errorName) fields = Buffer.concat([pad(fields), Buffer.from([4, 1]), Buffer.from('s\0'), string(errorName)])
  const body = typeof value === 'string' ? string(value) : u32(Number(value))
  const head = Buffer.concat([Buffer.from([0x6c, type, 0, 1]), u32(body.length), u32(77), u32(fields.length)])
  return Buffer.concat([pad(Buffer.concat([head, fields])), body])
}
