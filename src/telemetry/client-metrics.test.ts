/** The metrics of both clients: every attempt once, no request left active, labels that no peer can choose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { parseExposition } from '../../test/support/exposition.ts'
import { type Handler, json, serve } from '../../test/support/http-stub.ts'
import { createHttp } from '../http-client/client.ts'
import { connectKube } from '../kube/client.ts'
import { pods } from '../kube/resources.ts'
import { measureCalls } from './client-metrics.ts'
import { createMetrics } from './metrics.ts'

async function clients(handler: Handler) {
  const metrics = createMetrics('operator')
  const startCall = measureCalls(metrics)
  const server = await serve(handler)
  const kube = connectKube(
    { server: server.url },
    { maxRetryDelayMs: 20, attempts: 2, requestTimeoutMs: 5_000, startCall },
  )
  const http = createHttp({ service: 'viola', timeoutMs: 5_000, attempts: 1, startCall })
  const samples = async (name: string) => parseExposition(await metrics.text()).get(name)?.samples ?? []
  return {
    kube,
    http,
    url: server.url,
    counted: async () =>
      (await samples('multinic_client_requests_total')).map(
        ({ labels, value }) => `${labels['service']} ${labels['method']} ${labels['status']} ${value}`,
      ),
    active: async () => (await samples('multinic_client_requests_active')).map(({ value }) => value),
    async [Symbol.asyncDispose]() {
      await kube.close()
      await http.close()
      await server.close()
    },
  }
}

const key = { namespace: 'n', name: 'p' }
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec: { containers: [] } }

test('each attempt of a read is counted, and a status that HTTP does not define is an error', async () => {
  const statuses = [503, 200, 999]
  await using it = await clients((_, response) => json(response, statuses.shift() ?? 200, pod))
  await it.kube.get(pods, key)
  await assert.rejects(it.http.request({ method: 'POST', url: it.url, body: {} }))
  assert.deepEqual(await it.counted(), ['kubernetes GET 5xx 1', 'kubernetes GET 2xx 1', 'viola POST error 1'])
  assert.deepEqual(await it.active(), [0, 0])
})

test('a response that breaks off, or never comes, is an error and no longer active', async () => {
  await using it = await clients(({ path }, response) => {
    if (path === '/silent') return
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{')
    setTimeout(() => response.destroy(), 20)
  })
  await assert.rejects(it.http.request({ method: 'GET', url: `${it.url}/cut` }))
  const stop = new AbortController()
  const silent = assert.rejects(it.http.request({ method: 'GET', url: `${it.url}/silent`, signal: stop.signal }))
  assert.deepEqual(await it.active(), [1])
  stop.abort()
  await silent
  await assert.rejects(it.kube.create(pods, pod))
  assert.deepEqual(await it.counted(), ['viola GET error 2', 'kubernetes POST error 1'])
  assert.deepEqual(await it.active(), [0, 0])
})

test('a watch and an event stream are counted once, when they are open, and are then not active', async () => {
  await using it = await clients((_, response) => response.writeHead(200).flushHeaders())
  const stop = new AbortController()
  const { signal } = stop
  const read = async (stream: AsyncIterable<unknown>) => {
    for await (const part of stream) assert.fail(String(part))
  }
  const watch = read(it.kube.watch(pods, { resourceVersion: '1', signal }))
  const stream = assert.rejects(read(it.http.stream({ method: 'GET', url: it.url, signal })))
  const expected = ['kubernetes GET 2xx 1', 'viola GET 2xx 1']
  await eventually(async () => assert.deepEqual((await it.counted()).sort(), expected))
  assert.deepEqual(await it.active(), [0, 0])
  stop.abort()
  await watch
  await stream
  assert.deepEqual((await it.counted()).sort(), expected)
})
