import assert from 'node:assert/strict'
import { createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { makeCertificates } from '../../sandbox/kube/access/certificates.ts'
import { type StubResponse, startStubServer } from '../../test/openstack/stub-server.ts'
import type { StartCall } from '../telemetry/client-metrics.ts'
import { createHttp, type HttpOptions } from './client.ts'
import { ServiceError } from './errors.ts'

async function client(options: Partial<HttpOptions> = {}) {
  const calls: string[] = []
  const startCall: StartCall = (service, method) => status => calls.push(`${service} ${method} ${status}`)
  const http = createHttp({ service: 'neutron', timeoutMs: 2_000, startCall, ...options })
  return { http, calls, [Symbol.asyncDispose]: () => http.close() }
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error = await work.then(
    () => assert.fail('the request succeeded'),
    error => error,
  )
  assert.ok(error instanceof ServiceError, String(error))
  return error
}

test('a busy server is called again after its Retry-After', async () => {
  const answers: StubResponse[] = [
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 200, body: { ok: true } },
  ]
  await using server = await startStubServer(({ previous }) => answers[previous] ?? { status: 500 })
  await using it = await client({ random: () => 0 })
  const started = performance.now()
  const { body } = await it.http.request({ method: 'GET', url: `${server.url}/ports` })
  assert.deepEqual(body, { ok: true })
  assert.ok(performance.now() - started >= 990)
  assert.deepEqual(it.calls, ['neutron GET 4xx', 'neutron GET 2xx'])
})

test('with a long Retry-After the call fails at once, and the error contains the time', async () => {
  await using server = await startStubServer(() => ({ status: 503, headers: { 'retry-after': '120' } }))
  await using it = await client()
  const error = await failureOf(it.http.request({ method: 'GET', url: server.url }))
  assert.deepEqual([error.status, error.retryAfterMs, server.requests.length], [503, 120_000, 1])
})

test('a read is retried after a closed connection and a 500, and fails after three attempts', async () => {
  await using server = await startStubServer(({ previous }) => ({ status: 500, cut: previous === 0 }))
  await using it = await client()
  const error = await failureOf(it.http.request({ method: 'GET', url: `${server.url}/v2.0/ports` }))
  assert.match(error.message, /^neutron: GET 127\.0\.0\.1:\d+\/v2\.0\/ports: HTTP 500$/)
  assert.equal(server.requests.length, 3)
})

test('a write is not repeated if the server may have started it', async () => {
  await using server = await startStubServer(() => ({ status: 500 }))
  await using it = await client()
  await failureOf(it.http.request({ method: 'POST', url: server.url, body: {} }))
  assert.equal(server.requests.length, 1)
})

test('a server that does not answer causes a timeout error', async () => {
  await using server = await startStubServer(() => ({ status: 200, hang: true }))
  await using it = await client({ timeoutMs: 100, attempts: 1 })
  const error = await failureOf(it.http.request({ method: 'GET', url: server.url }))
  assert.equal(error.kind, 'timeout')
  assert.match(error.message, /no answer within 0\.1 s/)
})

test('a redirect is not followed: the next host would get our token', async () => {
  await using elsewhere = await startStubServer(() => ({ status: 200, body: {} }))
  await using server = await startStubServer(() => ({ status: 302, headers: { location: elsewhere.url } }))
  await using it = await client()
  const error = await failureOf(
    it.http.request({ method: 'GET', url: server.url, headers: { 'x-auth-token': 'secret-token' } }),
  )
  assert.equal(error.status, 302)
  assert.equal(elsewhere.requests.length, 0)
})

test('errors contain the request id and the detail of the service, never a token or a query', async () => {
  const body = { NeutronError: { type: 'HTTPBadRequest', message: 'bogus filter', detail: '' } }
  await using server = await startStubServer(() => ({
    status: 400,
    body,
    headers: { 'x-openstack-request-id': 'req-42' },
  }))
  await using it = await client()
  const url = `${server.url}/v2.0/ports?${'device_id=0&'.repeat(500)}`
  const error = await failureOf(it.http.request({ method: 'GET', url, headers: { 'x-auth-token': 'secret-token' } }))
  assert.match(error.message, /HTTP 400 bogus filter \(request req-42\)$/)
  assert.equal(error.requestId, 'req-42')
  for (const leak of ['secret-token', 'device_id']) assert.ok(!JSON.stringify([error.message, error]).includes(leak))
})

test('a 414 without body and content type is an error', async () => {
  await using server = await startStubServer(() => ({ status: 414, headers: { connection: 'close' } }))
  await using it = await client()
  const error = await failureOf(it.http.request({ method: 'GET', url: server.url }))
  assert.equal(error.status, 414)
})

test('a 200 with an invalid or too long body is an error', async () => {
  await using invalid = await startStubServer(() => ({ status: 200, body: '<html>maintenance</html>' }))
  await using long = await startStubServer(() => ({ status: 200, body: { text: 'x'.repeat(2_000) } }))
  await using it = await client({ limits: { bytes: 1_000 } })
  assert.match((await failureOf(it.http.request({ method: 'GET', url: invalid.url }))).message, /is not JSON/)
  assert.match((await failureOf(it.http.request({ method: 'GET', url: long.url }))).message, /longer than 1000 bytes/)
})

test('a private certificate is trusted only with its CA or with insecure TLS', async () => {
  const { ca, cert, key } = makeCertificates(['127.0.0.1'])
  const server = createServer({ cert, key }, (_request, response) => response.end('{}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    for (const tls of [{ ca }, { insecure: true }]) {
      await using it = await client({ tls })
      assert.equal((await it.http.request({ method: 'GET', url })).status, 200)
    }
    await using it = await client({ attempts: 1 })
    assert.match((await failureOf(it.http.request({ method: 'GET', url }))).message, /CERT|SIGNATURE|SELF_SIGNED/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

for (const url of [
  'http://169.254.169.254/latest',
  'http://2852039166/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
])
  test(`${url} is never called: a metadata service could answer with credentials`, async () => {
    await using it = await client({ attempts: 1, timeoutMs: 60_000 })
    assert.match((await failureOf(it.http.request({ method: 'GET', url }))).message, /LINK_LOCAL_ADDRESS$/)
  })

test('a timeout of months does not overflow to 1 ms', async () => {
  await using server = await startStubServer(() => ({ status: 200, body: {} }))
  for (const timeoutMs of [2 ** 31, 2 ** 32 + 1, 1e15]) {
    await using it = await client({ timeoutMs, attempts: 1 })
    assert.equal((await it.http.request({ method: 'GET', url: server.url })).status, 200)
  }
})

test('a compressed answer is not decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 0x20))
  const server = createPlainServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  await using it = await client({ limits: { bytes: 1024 * 1024 } })
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    assert.match((await failureOf(it.http.request({ method: 'GET', url }))).message, /the answer is not JSON/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
