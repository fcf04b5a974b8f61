/** Request smuggling, slow requests and path traversal, over raw sockets against every server. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { createApp, listen } from '../../src/server/server.ts'
import { silent } from '../../src/telemetry/log.ts'
import { type Servers, startServers } from './servers.ts'

let servers: Servers
before(async () => {
  servers = await startServers()
})
after(() => servers[Symbol.asyncDispose]())

/** Sends bytes and returns the response until the server closes the connection or sends nothing for a moment. */
function responseTo(port: number, bytes: string, { quietMs = 1_000 } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    let response = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.setEncoding('latin1').on('data', text => {
      response += text
    })
    let quiet = 0
    // A busy machine may be slow: before the first byte, wait longer.
    socket.setTimeout(quietMs).on('timeout', () => {
      if (response !== '' || ++quiet >= 60) socket.destroy()
      else socket.setTimeout(quietMs)
    })
    socket
      .once('error', error => (response === '' ? reject(error) : resolve(response)))
      .once('close', () => resolve(response))
  })
}

const head = 'POST /v1/k8s/multinic/node-configs HTTP/1.1\r\nhost: x\r\nx-provider-id: p1\r\nconnection: keep-alive\r\n'
const hidden = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

/** Each hides a second request where another parser would see the body of the first one, or the reverse. */
const smuggled: Record<string, string> = {
  'a content-length before chunks': `${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'chunks before a content-length': `${head}transfer-encoding: chunked\r\ncontent-length: ${hidden.length}\r\n\r\n0\r\n\r\n${hidden}`,
  'two content-lengths': `${head}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a content-length with a sign': `${head}content-length: +0\r\n\r\n${hidden}`,
  'a content-length that is a list': `${head}content-length: 0, ${hidden.length}\r\n\r\n${hidden}`,
  'a misspelled chunked encoding': `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
  'an encoding after chunked': `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
  'a blank before the colon': `${head}content-length : 0\r\n\r\n${hidden}`,
  'a folded header': `${head}x-a: b\r\n content-length: 0\r\n\r\n${hidden}`,
  'a line without carriage return': `${head}content-length: 5\n\r\n\r\n${hidden}`,
  'a zero byte in a header': `${head}x-a: b\0c\r\ncontent-length: 0\r\n\r\n${hidden}`,
  'a chunk without a valid size': `${head}transfer-encoding: chunked\r\n\r\nzz\r\n\r\n${hidden}`,
  'a chunk of a negative size': `${head}transfer-encoding: chunked\r\n\r\n-1\r\n\r\n${hidden}`,
  'a chunk size that overflows': `${head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n${hidden}`,
  'an unknown HTTP version': `GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n${hidden}`,
}

for (const [name, bytes] of Object.entries(smuggled))
  test(`${name} is refused, and the server reads nothing after it`, async () => {
    for (const [component, port] of Object.entries(servers.ports)) {
      const response = await responseTo(port, bytes)
      const answers = response.match(/HTTP\/1\.1 \d{3}/g) ?? []
      // A server may answer a request before it reads the broken body.
      assert.ok(
        answers.length > 0 && answers.every(answer => / 4\d\d$/.test(answer)),
        `${component}: ${response.slice(0, 300)}`,
      )
      assert.doesNotMatch(response, /"status"\s*:\s*"(ok|healthy)"/, component)
    }
  })

test('a second request after a valid one gets its own response, so the test would detect it', async () => {
  const response = await responseTo(
    servers.ports['controller'] ?? 0,
    `GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n${hidden}`,
  )
  assert.equal(response.match(/HTTP\/1\.1 200/g)?.length, 2)
})

test('headers beyond 16 KiB are refused', async () => {
  for (const port of Object.values(servers.ports))
    assert.match(
      await responseTo(port, `GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(17_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /,
    )
})

test('every server has short timeouts and a maximum number of connections', () => {
  for (const [component, { server }] of Object.entries(servers.apps)) {
    assert.ok(server.headersTimeout > 0 && server.headersTimeout <= 10_000, component)
    assert.ok(server.requestTimeout > 0 && server.requestTimeout <= 30_000, component)
    assert.ok(server.maxConnections > 0 && server.maxConnections <= 10_000, component)
  }
})

const slow: Record<string, string> = {
  'never ends its headers': 'GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ',
  'never ends its body':
    'POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\nx',
  'never ends its chunks':
    'POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n',
}
for (const [name, bytes] of Object.entries(slow))
  test(`a client that ${name} is disconnected`, async () => {
    const app = createApp({ log: silent, timeouts: { headersMs: 200, requestMs: 400 } })
    app.post('/healthz', async () => 'read')
    const port = Number(new URL(await listen(app, '127.0.0.1:0')).port)
    try {
      assert.match(await responseTo(port, bytes, { quietMs: 60_000 }), /^HTTP\/1\.1 408 /)
    } finally {
      await app.close()
    }
  })

test('at its connection limit a server refuses new connections and keeps serving the open ones', async () => {
  const app = createApp({ log: silent, maxConnections: 3 })
  const port = Number(new URL(await listen(app, '127.0.0.1:0')).port)
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  try {
    await Promise.all(sockets.map(socket => new Promise(resolve => socket.once('connect', resolve))))
    const getHealth = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const answer = new Promise<string>(resolve => sockets[0]?.once('data', text => resolve(String(text))))
    assert.equal(await responseTo(port, getHealth, { quietMs: 30_000 }).catch(() => ''), '')
    sockets[0]?.write(getHealth)
    assert.match(await answer, /^HTTP\/1\.1 200/)
  } finally {
    for (const socket of sockets) socket.destroy()
    await app.close()
  }
})

const traversals = [
  '/../../../../etc/passwd',
  '/..%2f..%2f..%2fetc/passwd',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/assets/..%5c..%5cetc/passwd',
  '//etc/passwd',
  '/%00/etc/passwd',
  '/index.html/../../package.json',
  '/.git/config',
  '/package.json',
  'http://elsewhere/etc/passwd',
]
test('no path returns a file outside the dashboard', async () => {
  for (const [component, port] of Object.entries(servers.ports))
    for (const path of traversals) {
      const response = await responseTo(port, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      assert.match(response, /^HTTP\/1\.1 (400|404) /, `${component} ${path}`)
      assert.doesNotMatch(response, /root:|\[core\]|"devDependencies"/, `${component} ${path}`)
    }
})

test('no server logged an error', () => assert.deepEqual(servers.failures, []))
