/**
 * Attacks of somebody who reaches the ports of the inventory, the operator and Viola, over raw sockets: without credentials,
 * with forged ones, and with those of a caller who has one right.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { type RunningInventory, startInventory } from '../../src/inventory/main.ts'
import { serveOperatorApi } from '../../src/operator/app.ts'
import { listen } from '../../src/server/server.ts'
import { silent } from '../../src/telemetry/log.ts'
import { grant, rules } from '../support/access.ts'
import { startTargetCluster, type TargetCluster } from '../support/target-cluster.ts'
import { aViola, type Viola } from '../support/viola.ts'

let cluster: TargetCluster
let inventory: RunningInventory
let viola: Viola
const ports = { inventory: 0, viola: 0 }
const tokenOf = (user: string) => `the-token-of-${user}-0123456789`
const providers = '/v1/interfaces/providers'
const nodeConfigs = '/v1/k8s/multinic/node-configs'
const bearer = (user: string) => `authorization: Bearer ${tokenOf(user)}`

before(async () => {
  cluster = await startTargetCluster()
  const file = join(cluster.dir, 'tokens.yaml')
  const tokens = ['reader', 'writer-of-p1', 'stranger'].map(user => ({ user, token: tokenOf(user) }))
  await writeFile(file, stringify({ tokens }))
  await grant(cluster.kube, 'reader', [rules.readInventory])
  await grant(cluster.kube, 'writer-of-p1', [rules.writeProvider('p1')])
  const KUBECONFIG = cluster.api.kubeconfig
  inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(cluster.dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: file,
      KUBECONFIG,
    },
    log: silent,
    addRoutes: (app, access) => serveOperatorApi(app, () => undefined, access),
  })
  viola = await aViola({ KUBECONFIG, VIOLA_TOKENS_FILE: file, VIOLA_ANONYMOUS_ACCESS: 'false' })
  ports.inventory = Number(new URL(inventory.url).port)
  ports.viola = Number(new URL(await listen(viola.app, '127.0.0.1:0')).port)
})
after(async () => {
  await viola?.close()
  await inventory?.close()
  await cluster?.close()
})

interface Sent {
  to?: keyof typeof ports
  method?: string
  path?: string
  headers?: string[]
  body?: string
}

/** The status, and the whole response. */
async function send({ to = 'inventory', method = 'GET', path = providers, headers = [], body = '' }: Sent) {
  const length = body === '' ? [] : [`content-length: ${body.length}`]
  const head = [`${method} ${path} HTTP/1.1`, 'host: x', 'connection: close', ...headers, ...length]
  const socket = connect(ports[to], '127.0.0.1').setEncoding('latin1')
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1')
  let text = ''
  for await (const chunk of socket) text += chunk
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }
}

test('the same requests with the right are served', async () => {
  assert.equal((await send({ headers: [bearer('reader')] })).status, 200)
  assert.equal((await send({ headers: [`cookie: __Host-multinic=${tokenOf('reader')}`] })).status, 200)
  const headers = [bearer('writer-of-p1'), 'x-provider-id: p1']
  assert.equal((await send({ to: 'viola', path: nodeConfigs, headers })).status, 200)
})

const paths = [
  `/${providers}`,
  '/v1/./interfaces/providers',
  '/v1/x/../interfaces/providers',
  '/healthz/../v1/interfaces/providers',
  '/healthz%2f..%2fv1/interfaces/providers',
  '/metrics/..;/v1/interfaces/providers',
  '/V1/INTERFACES/PROVIDERS',
  '/v1%2finterfaces%2fproviders',
  `${providers}/`,
  `${providers};x`,
  `${providers}%00`,
  `http://x${providers}`,
  `${providers}?access_token=${tokenOf('reader')}`,
  `${providers}?token=${tokenOf('reader')}`,
]
test('no spelling of a path leads past the check, and no token in it counts', async () => {
  for (const path of paths) {
    const { status, text } = await send({ path })
    assert.ok(status === 401 || status === 404, `${path}: ${text}`)
  }
})

test('no method of a route is open', async () => {
  const routes = [
    providers,
    '/v1/inventory/events',
    '/v1/inventory/records',
    '/v1/operator/plan',
    '/v1/operator/verdicts',
  ]
  for (const path of routes)
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'get']) {
      const { status, text } = await send({ method, path })
      assert.ok([400, 401, 404, 405].includes(status), `${method} ${path}: ${text}`)
    }
})

const forged: Record<string, string[]> = {
  'a part of a token': [`authorization: Bearer ${tokenOf('reader').slice(0, -1)}`],
  'a token and more': [`authorization: Bearer ${tokenOf('reader')}x`],
  'two tokens': [`authorization: Bearer ${tokenOf('reader')},${tokenOf('reader')}`],
  'a second header with a token': ['authorization: Bearer x', bearer('reader')],
  'no token': ['authorization: Bearer'],
  'a long token': [`authorization: Bearer ${'a'.repeat(15_000)}`],
  'another scheme': [`authorization: Basic ${tokenOf('reader')}`],
  'a cookie of another name': [`cookie: multinic=${tokenOf('reader')}; __host-multinic=${tokenOf('reader')}`],
  'headers of a proxy': ['x-forwarded-user: reader', 'x-forwarded-for: 127.0.0.1', 'forwarded: for=127.0.0.1'],
  'headers of the API server': ['x-remote-user: reader', 'x-remote-group: system:masters'],
  'a header of a certificate': ['x-forwarded-client-cert: Subject="CN=reader"', 'x-ssl-client-s-dn: CN=reader'],
  'another URL or method': ['x-original-url: /healthz', 'x-rewrite-url: /healthz', 'x-http-method-override: HEAD'],
  'an upgrade': ['upgrade: websocket', 'sec-websocket-key: eA==', 'sec-websocket-version: 13'],
  impersonation: ['impersonate-user: system:admin', 'impersonate-group: system:masters'],
}
for (const [name, headers] of Object.entries(forged))
  test(`${name} identifies nobody`, async () => {
    for (const one of [{}, { to: 'viola', path: nodeConfigs } as const]) {
      const { status, text } = await send({ ...one, headers: [...headers, 'x-provider-id: p1'] })
      assert.equal(status, 401, text)
    }
  })

test('a caller with a right on one provider has it on no other spelling', async () => {
  for (const id of ['p2', '*', 'p1*', 'P1', 'p1,p2', 'p1/../p2', 'p1/status', 'p1%2f', '..']) {
    const headers = [bearer('writer-of-p1'), `x-provider-id: ${id}`]
    assert.equal((await send({ to: 'viola', path: nodeConfigs, headers })).status, 403, id)
  }
  const twice = [bearer('writer-of-p1'), 'x-provider-id: p1', 'x-provider-id: p2']
  assert.equal((await send({ to: 'viola', path: nodeConfigs, headers: twice })).status, 403)
})

test('a caller without the right to impersonate stays itself', async () => {
  for (const headers of [
    ['impersonate-user: reader'],
    ['impersonate-group: system:masters'],
    ['impersonate-uid: 1', 'impersonate-extra-scopes: all'],
  ]) {
    const { status, text } = await send({ headers: [bearer('stranger'), ...headers] })
    assert.ok(status === 400 || status === 403, text)
  }
})

/** A browser sends these without asking the server first. */
test('a form of another site signs nobody in', async () => {
  const body = JSON.stringify({ token: tokenOf('reader') })
  for (const type of [
    'text/plain',
    'text/plain; application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    '',
  ]) {
    const headers = type === '' ? [] : [`content-type: ${type}`]
    const { status, text } = await send({ method: 'POST', path: '/v1/session', headers, body })
    assert.equal(status, 415, `${type}: ${text}`)
    assert.doesNotMatch(text, /set-cookie/i)
  }
})
