/** Whatever answers at the address of a bus: it is told, and nobody falls. Against a real broker: test/system/events. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { busTrouble } from '../../test/openstack/sessions.ts'

/** What is told of a bus that says this to whoever connects, and then hangs up. */
async function toldOf(bytes: Buffer): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {}).once('data', () => socket.end(bytes))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await busTrouble({ port, password: 'a-password-for-the-bus' })
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

const answers: Record<string, [bytes: Buffer, said: RegExp]> = {
  'a web server': [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /what answers there is no message bus/],
  'a frame of 3 GiB': [frame(1, 0xc0000000, Buffer.alloc(9)), /what answers there is no message bus/],
  'a frame of 100 MiB': [frame(1, 100 * 1024 * 1024, Buffer.alloc(9)), /what answers there is no message bus/],
  'another version of AMQP': [Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 1, 0, 0]), /not supported/],
  'a frame without its end': [frame(1, 4, Buffer.from([0, 10, 0, 10, 0])), /127\.0\.0\.1/],
  nothing: [Buffer.alloc(0), /127\.0\.0\.1/],
}
for (const [name, [bytes, said]] of Object.entries(answers))
  test(`${name} is told`, async () => {
    const told = await toldOf(bytes)
    assert.match(told, said)
    assert.doesNotMatch(told, /a-password/)
  })

test('no bytes of a bus make anybody fall', async () => {
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
    fc.asyncProperty(bytes, async given => assert.match(await toldOf(given), /127\.0\.0\.1/)),
    { numRuns: 300 },
  )
})
