/** Sign-in of the dashboard, and users that a proxy has authenticated. oauth2-proxy.e2e.test.ts runs a real proxy. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { request } from 'undici'
import { stringify } from 'yaml'
import { accessOf, grant, rules } from '../../test/support/access.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openStore, type Store } from './store.ts'

let cluster: TargetCluster
let store: Store
let app: FastifyInstance
const tokenOf = (user: string) => `the-token-of-${user}`
const bearer = (user: string) => ({ authorization: `Bearer ${tokenOf(user)}` })
const reads = '/v1/interfaces/providers'

before(async () => {
  cluster = await startTargetCluster()
  store = await openStore({ path: join(cluster.dir, 'inventory.db'), log: silent })
  const tokensFile = join(cluster.dir, 'tokens.yaml')
  const tokens = ['reader', 'writer', 'stranger', 'proxy'].map(user => ({ user, token: tokenOf(user) }))
  await writeFile(tokensFile, stringify({ tokens }))
  await grant(cluster.kube, 'reader', [rules.readInventory])
  await grant(cluster.kube, 'writer', [rules.readInventory, rules.writeProvider()])
  await grant(cluster.kube, 'network-team', [rules.readInventory], undefined, 'Group')
  await grant(cluster.kube, 'proxy', [
    { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
    { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['network-team', 'visitors'] },
  ])
  app = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, tokensFile), log: silent })
})
after(async () => {
  await app.close()
  await store.close()
  await cluster.close()
})

async function cookieOf(user: string): Promise<string> {
  const { statusCode, headers } = await app.inject({
    method: 'POST',
    url: '/v1/session',
    payload: { token: tokenOf(user) },
  })
  assert.equal(statusCode, 204)
  return String(headers['set-cookie'])
}

test('a token becomes a cookie that no script and no other site can use', async () => {
  const cookie = await cookieOf('reader')
  assert.match(cookie, /^__Host-multinic=[^;]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/)
  const [value = ''] = cookie.split(';')
  const headers = { cookie: `theme=dark; ${value}` }
  assert.equal((await app.inject({ url: reads, headers })).statusCode, 200)
  assert.deepEqual((await app.inject({ url: '/v1/session', headers })).json(), { user: 'reader' })
  assert.equal((await app.inject({ url: reads, headers: { cookie: `x${value}` } })).statusCode, 401)
})

test('the cookie counts only in requests of our own pages, and in addresses that a person opens', async () => {
  const [cookie = ''] = (await cookieOf('reader')).split(';')
  for (const [site, status] of [
    ['same-origin', 200],
    ['none', 200],
    ['same-site', 401],
    ['cross-site', 401],
  ] as const) {
    const headers = { cookie, 'sec-fetch-site': site }
    assert.equal((await app.inject({ url: reads, headers })).statusCode, status, site)
    assert.equal((await app.inject({ url: '/v1/session', headers })).statusCode, status, site)
  }
})

test('a token without the right to read signs nobody in', async () => {
  for (const [payload, status] of [
    [{}, 400],
    [{ token: 'x; Path=/elsewhere' }, 400],
    [{ token: 'a-token-of-nobody' }, 401],
    [{ token: tokenOf('stranger') }, 403],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url: '/v1/session', payload })
    assert.equal(answer.statusCode, status)
    assert.equal(answer.headers['set-cookie'], undefined)
  }
  assert.equal((await app.inject('/v1/session')).statusCode, 401)
})

test('the cookie is for reading: a write needs the token itself', async () => {
  const [cookie = ''] = (await cookieOf('writer')).split(';')
  const write = { method: 'PUT', url: '/v1/inventory/records', payload: { records: [aWrite('w1')] } } as const
  assert.equal((await app.inject({ ...write, headers: { cookie } })).statusCode, 401)
  assert.equal((await app.inject({ ...write, headers: bearer('writer') })).statusCode, 204)
})

test('a user behind a proxy cannot get the token of the proxy', async () => {
  const headers = { ...bearer('proxy'), 'impersonate-user': 'jane', 'impersonate-group': 'network-team' }
  for (const payload of [undefined, {}]) {
    const answer = await app.inject({ method: 'POST', url: '/v1/session', headers, ...(payload && { payload }) })
    assert.equal(answer.statusCode, 400)
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.doesNotMatch(answer.body, new RegExp(tokenOf('proxy')))
  }
})

test('signing out removes the cookie', async () => {
  const { statusCode, headers } = await app.inject({ method: 'DELETE', url: '/v1/session' })
  assert.equal(statusCode, 204)
  assert.match(String(headers['set-cookie']), /^__Host-multinic=; .*Max-Age=0$/)
})

test('a stream of events ends when its token is taken away', async () => {
  const file = join(cluster.dir, 'temporary.yaml')
  const tokens = [{ user: 'reader', token: tokenOf('reader') }]
  await writeFile(file, stringify({ tokens }))
  const own = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, file), log: silent })
  const url = await own.listen({ host: '127.0.0.1', port: 0 })
  const { statusCode, body } = await request(`${url}/v1/inventory/events`, { headers: bearer('reader') })
  assert.equal(statusCode, 200)
  await writeFile(file, stringify({ tokens: [{ user: 'reader', token: 'another-token-of-the-reader' }] }))
  await body.text()
  await own.close()
})

const impersonation: Record<string, [proxy: string, headers: Record<string, string>, status: number]> = {
  'a user of a group with the right may read': [
    'proxy',
    { 'impersonate-user': 'jane', 'impersonate-group': 'network-team' },
    200,
  ],
  'a user has the rights of the user, not of the proxy': [
    'proxy',
    { 'impersonate-user': 'jane', 'impersonate-group': 'visitors' },
    403,
  ],
  'a proxy cannot name groups that RBAC does not give it': [
    'proxy',
    { 'impersonate-user': 'jane', 'impersonate-group': 'network-team,system:masters' },
    403,
  ],
  'a caller that is no proxy cannot be somebody else': ['stranger', { 'impersonate-user': 'reader' }, 403],
  'groups without a user are refused': ['proxy', { 'impersonate-group': 'network-team' }, 400],
  'without credentials nobody is a proxy': ['', { 'impersonate-user': 'reader' }, 401],
}
for (const [name, [proxy, headers, status]] of Object.entries(impersonation))
  test(`behind a proxy: ${name}`, async () => {
    const answer = await app.inject({ url: reads, headers: { ...(proxy && bearer(proxy)), ...headers } })
    assert.equal(answer.statusCode, status, answer.body)
  })
