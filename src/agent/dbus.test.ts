import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { BusError, openBus, typesIn } from './dbus.ts'

test('a signature is split into complete types', () => {
  assert.deepEqual(typesIn('sa{sv}u(ya(yv))as'), ['s', 'a{sv}', 'u', '(ya(yv))', 'as'])
})

/** A bus that accepts the authentication, replies to each call with the next message, and keeps what it received. */
function busWith(replies: Buffer[]): { stream: Duplex; sent: Buffer[] } {
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

/** A method return (2) or error (3) to a serial: fields REPLY_SERIAL, ERROR_NAME and SIGNATURE `s`, body one text. */
function reply(type: number, serial: number, text: string, errorName?: string): Buffer {
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return bytes
  }
  const pad = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)])
  const string = (value: string) => Buffer.concat([u32(value.length), Buffer.from(`${value}\0`)])
  let fields = Buffer.concat([Buffer.from([5, 1]), Buffer.from('u\0'), u32(serial)])
  fields = Buffer.concat([pad(fields), Buffer.from([8, 1]), Buffer.from('g\0'), Buffer.from([1]), Buffer.from('s\0')])
  if (errorName) fields = Buffer.concat([pad(fields), Buffer.from([4, 1]), Buffer.from('s\0'), string(errorName)])
  const body = string(text)
  const head = Buffer.concat([Buffer.from([0x6c, type, 0, 1]), u32(body.length), u32(77), u32(fields.length)])
  return Buffer.concat([pad(Buffer.concat([head, fields])), body])
}

const call = { destination: 'a.b', path: '/a/b', interface: 'a.b', member: 'Set' }

test('a call is encoded as specified, and its reply is decoded', async () => {
  const { stream, sent } = busWith([reply(2, 1, ':1.5'), reply(2, 2, 'done')])
  const bus = await openBus(stream)
  const result = await bus.call({ ...call, signature: 'ssv', body: ['x', 'Managed', ['b', false]] })
  assert.deepEqual(result, ['done'])
  const message = sent[1] ?? Buffer.alloc(0)
  assert.deepEqual([...message.subarray(0, 4)], [0x6c, 1, 2, 1])
  // s "x", s "Managed", v (b false): 4+1+1, padded to 8, 4+7+1, 1+1+1, padded to 24, 4.
  assert.equal(message.readUInt32LE(4), 28)
  assert.equal(
    message.subarray(-28).toString('hex'),
    '010000007800000007000000' + '4d616e6167656400' + '01620000' + '00000000',
  )
  bus.close()
})

test('an error reply rejects with its D-Bus name', async () => {
  const { stream } = busWith([reply(2, 1, ':1.5'), reply(3, 2, 'no such device', 'org.Unknown')])
  const bus = await openBus(stream)
  await assert.rejects(
    bus.call(call),
    (error: unknown) => error instanceof BusError && error.errorName === 'org.Unknown',
  )
  bus.close()
})

test('pending calls fail when the connection closes', async () => {
  const { stream } = busWith([reply(2, 1, ':1.5')])
  const bus = await openBus(stream)
  const waiting = bus.call(call)
  stream.destroy()
  await assert.rejects(waiting, /closed the connection/)
})
