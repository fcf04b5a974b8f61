/** Limits of event streams: how many a caller may open, and what happens to a client that does not read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { silent } from '../telemetry/log.ts'
import { type EventStream, eventStreams, type StreamLimits } from './event-stream.ts'
import { createApp, listen } from './server.ts'

async function aServer(limits: Partial<StreamLimits>) {
  const app = createApp({ log: silent })
  const streams = eventStreams(app, limits)
  const open: EventStream[] = []
  app.get('/events/:caller', async (request, reply) => {
    open.push(streams.open(reply, async () => {}, (request.params as { caller: string }).caller))
  })
  const url = await listen(app, '127.0.0.1:0')
  const clients: Socket[] = []
  return {
    open,
    /** The status of the answer, and the connection, which nobody reads any more. */
    async ask(caller: string) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      clients.push(socket)
      socket.on('error', () => {})
      socket.write(`GET /events/${caller} HTTP/1.1\r\nhost: x\r\n\r\n`)
      const [head] = await once(socket, 'data')
      socket.pause()
      const status = Number(/^HTTP\/1.1 (\d+)/.exec(String(head))?.[1])
      return { status, retryAfter: /retry-after: (\d+)/.exec(String(head))?.[1], socket, text: String(head) }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of clients) socket.destroy()
      await app.close()
    },
  }
}

test('a caller above its streams, or above those of all callers, gets a 429 with Retry-After until one ends', async () => {
  await using server = await aServer({ perCaller: 2, inTotal: 3 })
  const [first] = [await server.ask('a'), await server.ask('a')]
  const refused = await server.ask('a')
  assert.deepEqual([refused.status, refused.retryAfter], [429, '30'])
  assert.match(refused.text, /a has 2 event streams open; retry later/)
  assert.equal((await server.ask('b')).status, 200)
  const full = await server.ask('c')
  assert.equal(full.status, 429)
  assert.match(full.text, /3 event streams are open; retry later/)
  first.socket.destroy()
  await eventually(async () => assert.equal((await server.ask('c')).status, 200))
})

test('a client that does not read is disconnected, and one that reads gets events above the limit of unread data', async () => {
  await using server = await aServer({ stallMs: 2_000 })
  const [silentClient, reader] = [await server.ask('a'), await server.ask('b')]
  const [stalled, read] = server.open as [EventStream, EventStream]
  // More than the buffers of the kernel hold.
  const event = Buffer.alloc(16 * 1024 * 1024, 'x')
  let received = 0
  reader.socket.on('data', piece => {
    received += piece.length
  })
  reader.socket.resume()
  for (const stream of [stalled, read]) stream.write(event)
  assert.equal(stalled.isFull, true)
  await Promise.all([stalled.drained(), read.drained()])
  assert.deepEqual([stalled.done.aborted, read.done.aborted], [true, false])
  await eventually(() => assert.ok(received >= event.length))
  silentClient.socket.resume()
  await once(silentClient.socket, 'close')
})
