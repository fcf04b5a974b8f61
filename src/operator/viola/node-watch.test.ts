/** Objects are woken by changes of the Nodes: by each change once, over reconnects, and with one stream for all of them. */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { createHttp } from '../../http-client/client.ts'
import { silent } from '../../telemetry/log.ts'
import { createNodeWatch, type NodeWatch } from './node-watch.ts'
import { createViolaApi } from './viola-client.ts'

const closing: (() => unknown)[] = []

/** A client of a server whose streams the test writes and ends. */
async function aViola() {
  const streams: ServerResponse[] = []
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': alive\n\n')
    streams.push(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const http = createHttp({ service: 'viola', timeoutMs: 1_000 })
  closing.push(
    () => http.close(),
    () => server.close(),
  )
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createViolaApi({ http, endpoint, providerId: 'p1' })
  const stream = (count: number) =>
    eventually(() => {
      assert.equal(streams.length, count)
      return streams.at(-1) as ServerResponse
    })
  return { client, streams, stream }
}

/** In two pieces, as a network may deliver it. */
function send(stream: ServerResponse, resourceVersion: string): void {
  const text = `id: ${resourceVersion}\nevent: version\ndata: ${JSON.stringify({ resourceVersion })}\n\n`
  stream.write(text.slice(0, 30))
  stream.write(text.slice(30))
}

let watch: NodeWatch
afterEach(async () => {
  watch.close()
  for (const close of closing.splice(0)) await close()
})

function open(): string[] {
  const woken: string[] = []
  watch = createNodeWatch({ wake: key => woken.push(key), log: silent, backoff: { firstMs: 1, maxMs: 1 } })
  return woken
}

test('objects share one stream, and each is woken by a version that it has not read', async () => {
  const woken = open()
  const { client, stream } = await aViola()
  watch.follow('a', client, 'v1')
  watch.follow('b', client, 'v1')
  const only = await stream(1)
  send(only, 'v1')
  send(only, 'v2')
  await eventually(() => assert.deepEqual(woken, ['a', 'b']))
  watch.follow('a', client, 'v2')
  send(only, 'v1')
  await eventually(() => assert.deepEqual(woken, ['a', 'b', 'a']))
  await stream(1)
})

test('a new connection wakes only if something changed in the meantime', async () => {
  const woken = open()
  const { client, stream } = await aViola()
  watch.follow('a', client, 'v1')
  for (const count of [1, 2]) {
    const current = await stream(count)
    send(current, 'v1')
    current.end()
  }
  const last = await stream(3)
  assert.deepEqual(woken, [])
  send(last, 'v2')
  await eventually(() => assert.deepEqual(woken, ['a']))
})

test('an object that read an older version than the stream reports is woken, but only once', async () => {
  const woken = open()
  const { client, stream } = await aViola()
  watch.follow('a', client, 'v2')
  send(await stream(1), 'v2')
  await eventually(() => {
    watch.follow('late', client, 'v1')
    assert.deepEqual(woken, ['late'])
  })
  watch.follow('late', client, 'v1')
  assert.deepEqual(woken, ['late'])
})

test('a stream ends with its last object, and an object with a new client leaves the old one', async () => {
  open()
  const [first, second] = [await aViola(), await aViola()]
  watch.follow('a', first.client, 'v1')
  watch.follow('b', first.client, 'v1')
  const stream = await first.stream(1)
  watch.forget('a')
  watch.follow('b', second.client, 'v1')
  await second.stream(1)
  await eventually(() => assert.equal(stream.destroyed, true))
  await first.stream(1)
})

test('a server that answers a stream with garbage is asked again', async () => {
  const woken = open()
  const { client, stream } = await aViola()
  watch.follow('a', client, 'v1')
  const garbage = await stream(1)
  garbage.write('data: not JSON\n\n')
  const endless = await stream(2)
  endless.write(`data: ${'x'.repeat(200_000)}`)
  send(await stream(3), 'v2')
  await eventually(() => assert.deepEqual(woken, ['a']))
})

test('a Viola that reports a thousand versions at once causes one sync', async () => {
  const woken: string[] = []
  const clock = manualClock()
  const backoff = { firstMs: 1, maxMs: 1 }
  watch = createNodeWatch({ wake: key => woken.push(key), log: silent, backoff, clock })
  const { client, stream } = await aViola()
  watch.follow('a', client, 'v0')
  const current = await stream(1)
  for (let n = 1; n <= 1_000; n++) send(current, `v${n}`)
  current.end()
  // The client connects again when it has read everything.
  await stream(2)
  clock.advance(60_000)
  assert.deepEqual(woken, ['a'])
})
