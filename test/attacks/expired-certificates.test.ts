/**
 * Servers whose certificates have expired: no client sends them a credential, and each goes on with the renewed certificate
 * without a restart.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { createHttp } from '../../src/http-client/client.ts'
import { connectKube } from '../../src/kube/client.ts'
import { nodes } from '../../src/kube/resources.ts'
import { firstBusError, sessionAt } from '../openstack/sessions.ts'
import { certificateAuthority } from '../rigs/kubernetes/certificates.ts'
import { json } from '../support/http-stub.ts'

const secret = 'a-password-of-a-cloud'
const extensions = { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' }
let ca: string
let expired: { cert: string; key: string }
let valid: { cert: string; key: string }
let dir: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-expired-'))
  const authority = await certificateAuthority(dir)
  const issue = async (name: string, days: number) => {
    const pair = await authority.issue(name, '/CN=server', extensions, days)
    return { cert: await readFile(pair.cert, 'utf8'), key: await readFile(pair.key, 'utf8') }
  }
  ca = await readFile(authority.cert, 'utf8')
  expired = await issue('expired', -1)
  valid = await issue('valid', 2)
})
after(() => rm(dir, { recursive: true }))

/** A server with the expired certificate. `received` is what clients sent over TLS. */
async function startServer() {
  const received: string[] = []
  const server = createServer(expired, (request, response) => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    request.on('data', chunk => received.push(String(chunk)))
    json(response, 200, { metadata: { resourceVersion: '7' }, items: [], token: {} })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    received,
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    renew: () => server.setSecureContext(valid),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

test('a cloud whose certificate has expired gets no password, and is used again once it is renewed', async () => {
  await using server = await startServer()
  const http = createHttp({ service: 'keystone', timeoutMs: 2_000, attempts: 1, tls: { ca } })
  try {
    const session = sessionAt({ url: `${server.url}/v3`, http, password: secret })
    await assert.rejects(session.check('network'), /CERT_HAS_EXPIRED/)
    assert.deepEqual(server.received, [])
    server.renew()
    await assert.rejects(session.check('network'))
    assert.ok(server.received.join('\n').includes(secret), 'the renewed server is asked to log in')
  } finally {
    await http.close()
  }
})

test('an API server whose certificate has expired gets no token, and is used again once it is renewed', async () => {
  await using server = await startServer()
  const kube = connectKube({ server: server.url, ca, token: async () => secret }, { attempts: 1 })
  try {
    await assert.rejects(kube.list(nodes), /certificate has expired/)
    assert.deepEqual(server.received, [])
    server.renew()
    assert.equal((await kube.list(nodes)).resourceVersion, '7')
  } finally {
    await kube.close()
  }
})

test('a message bus whose certificate has expired gets no account, and the error says why', async () => {
  const received: Buffer[] = []
  const server = createTlsServer(expired, socket => {
    socket.on('error', () => {}).on('data', data => received.push(data))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    assert.match(await firstBusError({ port, password: secret, ca }), /certificate has expired/)
    assert.deepEqual(received, [])
  } finally {
    server.close()
  }
})
