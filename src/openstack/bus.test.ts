/** Servers that are not a message bus: the error is reported, and the operator keeps running. test/system/events uses a real broker. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstBusError } from '../../test/openstack/sessions.ts'

/** The reported error of a server that sends these bytes and then closes the connection. */
async function errorOf(bytes: Buffer): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {}).once('data', () => socket.end(bytes))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await firstBusError({ port, password: 'a-password-for-the-bus' })
  } finally {
    server.close()
  }
}

const frame = (type: number, size: number, payload: Buffer = Buffer.alloc(0)) => {
  const head = Buffer.alloc(7)
  head.writeUInt8(type, 0)
  head.writeUInt32BE(size, 3)
  return Buffer.concat([head, payload])
}

const answers: Record<string, [bytes: Buffer, expected: RegExp]> = {
  'a web server': [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /the server is not a message bus/],
  'a frame of 3 GiB': [frame(1, 0xc0000000, Buffer.alloc(9)), /the server is not a message bus/],
  'a frame of 100 MiB': [frame(1, 100 * 1024 * 1024, Buffer.alloc(9)), /the server is not a message bus/],
  'another version of AMQP': [Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 1, 0, 0]), /not supported/],
  'a frame without its end': [frame(1, 4, Buffer.from([0, 10, 0, 10, 0])), /127\.0\.0\.1/],
  nothing: [Buffer.alloc(0), /127\.0\.0\.1/],
}
for (const [name, [bytes, expected]] of Object.entries(answers))
  test(`${name} is reported as an error`, async () => {
    const message = await errorOf(bytes)
    assert.match(message, expected)
    assert.doesNotMatch(message, /a-password/)
  })

test('no bytes of a server make the listener throw', async () => {
  const start = frame(1, 12, Buffer.from([0, 10, 0, 10, 0, 9, 0, 0, 0, 0, 0, 0, 0xce]))
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map(list => Buffer.from(list)),
    fc.tuple(fc.nat(start.length - 1), fc.nat(255)).map(([at, byte]) => {
      const changed = Buffer.from(start)
      changed[at] = byte
      return changed
    }),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async given => assert.match(await errorOf(given), /127\.0\.0\.1/)),
    { numRuns: 300 },
  )
})
