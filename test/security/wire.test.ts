/** Requests that two readers would read in two ways, that never end, or that ask for files: on raw sockets, at every server. */
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

/** What a server says to these bytes until it hangs up, or has been silent for a moment. */
function saidTo(port: number, bytes: string, { quietMs = 1_000 } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.setEncoding('latin1').on('data', text => {
      said += text
    })
    let quiet = 0
    // A busy machine is silent too: until there is an answer, silence does not count at once.
    socket.setTimeout(quietMs).on('timeout', () => {
      if (said !== '' || ++quiet >= 60) socket.destroy()
      else socket.setTimeout(quietMs)
    })
    socket.once('error', error => (said === '' ? reject(error) : resolve(said))).once('close', () => resolve(said))
  })
}

const head = 'POST /v1/k8s/multinic/node-configs HTTP/1.1\r\nhost: x\r\nx-provider-id: p1\r\nconnection: keep-alive\r\n'
const hidden = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

/** Each hides a second request in what another reader takes for the body of the first one, or the other way round. */
const smuggled: Record<string, string> = {
  'a length beside chunks': `${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'chunks beside a length': `${head}transfer-encoding: chunked\r\ncontent-length: ${hidden.length}\r\n\r\n0\r\n\r\n${hidden}`,
  'two lengths': `${head}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  'a length with a sign': `${head}content-length: +0\r\n\r\n${hidden}`,
  'a length that is a list': `${head}content-length: 0, ${hidden.length}\r\n\r\n${hidden}`,
  'an encoding that is nearly chunked': `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
  'chunked and something after it': `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
  'a blank before the colon': `${head}content-length : 0\r\n\r\n${hidden}`,
  'a folded header': `${head}x-a: b\r\n content-length: 0\r\n\r\n${hidden}`,
  'a line that ends without a return': `${head}content-length: 5\n\r\n\r\n${hidden}`,
  'a zero byte in a header': `${head}x-a: b\0c\r\ncontent-length: 0\r\n\r\n${hidden}`,
  'a chunk whose size is none': `${head}transfer-encoding: chunked\r\n\r\nzz\r\n\r\n${hidden}`,
  'a chunk of a negative size': `${head}transfer-encoding: chunked\r\n\r\n-1\r\n\r\n${hidden}`,
  'a chunk whose size overflows': `${head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n${hidden}`,
  'a version of its own': `GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n${hidden}`,
}

for (const [name, bytes] of Object.entries(smuggled))
  test(`${name} is refused, and nothing behind it is read`, async () => {
    for (const [part, port] of Object.entries(servers.ports)) {
      const said = await saidTo(port, bytes)
      const answers = said.match(/HTTP\/1\.1 \d{3}/g) ?? []
      // A request may be answered before its body is read; what is wrong with that follows.
      assert.ok(answers.length > 0 && answers.every(answer => / 4\d\d$/.test(answer)), `${part}: ${said.slice(0, 300)}`)
      assert.doesNotMatch(said, /"status"\s*:\s*"(ok|healthy)"/, part)
    }
  })

test('a second request behind a sound one is answered as one of its own: the test would see it', async () => {
  const said = await saidTo(servers.ports['controller'] ?? 0, `GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n${hidden}`)
  assert.equal(said.match(/HTTP\/1\.1 200/g)?.length, 2)
})

test('headers beyond 16 KiB are refused', async () => {
  for (const port of Object.values(servers.ports))
    assert.match(
      await saidTo(port, `GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(17_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /,
    )
})

test('every server has short timeouts and a maximum number of connections', () => {
  for (const [part, { server }] of Object.entries(servers.apps)) {
    assert.ok(server.headersTimeout > 0 && server.headersTimeout <= 10_000, part)
    assert.ok(server.requestTimeout > 0 && server.requestTimeout <= 30_000, part)
    assert.ok(server.maxConnections > 0 && server.maxConnections <= 10_000, part)
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
  test(`a client that ${name} is cut off`, async () => {
    const app = createApp({ log: silent, timeouts: { headersMs: 200, requestMs: 400 } })
    app.post('/healthz', async () => 'read')
    const port = Number(new URL(await listen(app, '127.0.0.1:0')).port)
    try {
      assert.match(await saidTo(port, bytes, { quietMs: 60_000 }), /^HTTP\/1\.1 408 /)
    } finally {
      await app.close()
    }
  })

test('beyond its limit a server takes on nobody, and goes on with those that it has', async () => {
  const app = createApp({ log: silent, maxConnections: 3 })
  const port = Number(new URL(await listen(app, '127.0.0.1:0')).port)
  const held = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  try {
    await Promise.all(held.map(socket => new Promise(resolve => socket.once('connect', resolve))))
    const asked = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const answer = new Promise<string>(resolve => held[0]?.once('data', text => resolve(String(text))))
    assert.equal(await saidTo(port, asked, { quietMs: 30_000 }).catch(() => ''), '')
    held[0]?.write(asked)
    assert.match(await answer, /^HTTP\/1\.1 200/)
  } finally {
    for (const socket of held) socket.destroy()
    await app.close()
  }
})

const climbs = [
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
test('no address leads to a file that is not of the page', async () => {
  for (const [part, port] of Object.entries(servers.ports))
    for (const path of climbs) {
      const said = await saidTo(port, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      assert.match(said, /^HTTP\/1\.1 (400|404) /, `${part} ${path}`)
      assert.doesNotMatch(said, /root:|\[core\]|"devDependencies"/, `${part} ${path}`)
    }
})

test('none of it was a failure of a server', () => assert.deepEqual(servers.failures, []))
