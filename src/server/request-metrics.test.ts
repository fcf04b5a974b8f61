/** The metrics of an HTTP server: few labels, no lost requests, and streams apart from requests. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { parseExposition } from '../../test/support/exposition.ts'
import { silent } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { eventStreams } from './event-stream.ts'
import { serveApi } from './routes.ts'
import { createApp, HttpProblem, listen } from './server.ts'

async function aServer() {
  const metrics = createMetrics('inventory')
  const app = createApp({ log: silent, metrics })
  const streams = eventStreams(app)
  const answers = { 200: { description: 'Done.' } }
  serveApi(
    app,
    {
      routes: [
        { method: 'get', path: '/v1/nodes/{name}', summary: 'A node.', answers },
        { method: 'get', path: '/v1/slow', summary: 'Never ends.', answers },
        { method: 'get', path: '/v1/events', summary: 'A stream.', answers },
      ],
    },
    {
      'get /v1/nodes/{name}': async request => {
        if ((request.params as { name: string }).name === 'gone') throw new HttpProblem(404, 'not found')
        return { ok: true }
      },
      'get /v1/slow': () => new Promise(() => {}),
      'get /v1/events': async (_request, reply) => {
        streams.open(reply, async () => {})
      },
    },
  )
  const url = await listen(app, '127.0.0.1:0')
  const samples = async (name: string) => parseExposition(await metrics.text()).get(name)?.samples ?? []
  return {
    url,
    port: Number(new URL(url).port),
    samples,
    gauge: async (name: string) => (await samples(name))[0]?.value,
    counted: async () =>
      (await samples('multinic_http_requests_total'))
        .map(({ labels, value }) => `${labels['method']} ${labels['route']} ${labels['status']} ${value}`)
        .sort(),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

type Method = NonNullable<NonNullable<Parameters<typeof request>[1]>['method']>
const ask = async (url: string, method: Method = 'GET') => {
  const { statusCode, body } = await request(url, { method })
  await body.dump()
  return statusCode
}

/** Sends the text, and cuts the connection when `cut` resolves. */
async function sendRaw(port: number, text: string, cut: Promise<unknown>): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(text)
  await cut
  socket.destroy()
}

test('requests are counted by route, never by URL, and paths and methods of a stranger add no labels', async () => {
  await using server = await aServer()
  for (const name of ['a', 'b', 'gone']) await ask(`${server.url}/v1/nodes/${name}`)
  for (const path of ['/x', '/y?q=1', '/v1/nodes/a/more']) assert.equal(await ask(server.url + path), 404)
  assert.equal(await ask(`${server.url}/v1/nodes/a`, 'PATCH'), 405)
  assert.equal(await ask(`${server.url}/v1/nodes/%zz`), 400)
  const expected = [
    'GET /v1/nodes/:name 2xx 2',
    'GET /v1/nodes/:name 4xx 1',
    'GET other 4xx 4',
    'other /v1/nodes/:name 4xx 1',
  ]
  await eventually(async () => assert.deepEqual(await server.counted(), expected))
  assert.equal(await server.gauge('multinic_http_requests_active'), 0)
  const counts = (await server.samples('multinic_http_request_seconds')).filter(({ name }) => name.endsWith('_count'))
  assert.deepEqual(counts.map(({ value }) => value).sort(), [1, 3, 4])
})

test('a request whose client disconnects is active until then, and is counted as an error', async () => {
  await using server = await aServer()
  const isActive = eventually(async () => assert.equal(await server.gauge('multinic_http_requests_active'), 1))
  await sendRaw(server.port, 'GET /v1/slow HTTP/1.1\r\nhost: x\r\n\r\n', isActive)
  await eventually(async () => assert.deepEqual(await server.counted(), ['GET /v1/slow error 1']))
  assert.equal(await server.gauge('multinic_http_requests_active'), 0)
})

test('an open stream is no active request, and its duration is not in the latency', async () => {
  await using server = await aServer()
  const isOpen = eventually(async () => assert.equal(await server.gauge('multinic_http_streams_active'), 1))
  const checked = isOpen.then(async () => {
    assert.deepEqual(await server.counted(), ['GET /v1/events 2xx 1'])
    assert.equal(await server.gauge('multinic_http_requests_active'), 0)
  })
  await sendRaw(server.port, 'GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n', checked)
  await eventually(async () => assert.equal(await server.gauge('multinic_http_streams_active'), 0))
  assert.deepEqual(await server.counted(), ['GET /v1/events 2xx 1'])
})
