/** Access control, rate limit and malformed requests over HTTP. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { stringify } from 'yaml'
import { accessOf, grant, openToEveryone, rules } from '../../test/support/access.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { providerRecordsPath, sessionPath } from '../contract/inventory.ts'
import { problem } from '../contract/problem.ts'
import { openAccess } from '../server/access.ts'
import { limitAddresses } from '../server/rate-limit.ts'
import { connectOwnCluster } from '../server/reviews.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { readRight } from './access.ts'
import { inventoryApi } from './api.ts'
import { createInventoryApp } from './app.ts'
import { startInventory } from './main.ts'
import { openStore, type Store } from './store.ts'

let dir: string
let store: Store
let tokensFile: string
let cluster: TargetCluster
const [reader, writer, admin, stranger] = ['reader', 'writer', 'admin', 'stranger'].map(
  user => `the-token-of-the-${user}`,
) as [string, string, string, string]
const records = '/v1/inventory/records'

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-http-'))
  store = await openStore({ path: join(dir, 'inventory.db'), log: silent })
  await store.put([aWrite('w1')])
  cluster = await startTargetCluster()
  await grant(cluster.kube, 'reader', [rules.readInventory])
  await grant(cluster.kube, 'writer', [rules.writeProvider('p1')])
  await grant(cluster.kube, 'admin', [rules.readInventory, rules.writeProvider()])
  tokensFile = join(dir, 'tokens.yaml')
  const tokens = [
    { user: 'reader', token: reader },
    { user: 'writer', token: writer },
    { user: 'admin', token: admin },
    { user: 'stranger', token: stranger },
  ]
  writeFileSync(tokensFile, stringify({ tokens }))
})
after(async () => {
  await store.close()
  await cluster.close()
  await rm(dir, { recursive: true })
})

async function anApp(file?: string): Promise<FastifyInstance> {
  const access = file === undefined ? await openToEveryone() : await accessOf(cluster.api.kubeconfig, file)
  return createInventoryApp({ store, access, log: silent })
}
const bearer = (token: string | undefined) => (token === undefined ? {} : { authorization: `Bearer ${token}` })

async function statuses(app: FastifyInstance, token?: string, providerId = 'p1'): Promise<number[]> {
  const headers = bearer(token)
  const read = await app.inject({ url: '/v1/interfaces/providers', headers })
  const payload = { records: [aWrite('w1', { providerId })] }
  const write = await app.inject({ method: 'PUT', url: records, headers, payload })
  return [read.statusCode, write.statusCode]
}

const access: Record<string, [token: string | undefined, statuses: number[]]> = {
  'a caller without a token': [undefined, [401, 401]],
  'an unknown token': ['a-token-of-nobody', [401, 401]],
  'a user without rights': [stranger, [403, 403]],
  'a reader': [reader, [200, 403]],
  'a writer of this provider, who is no reader': [writer, [403, 204]],
  'a writer of all providers': [admin, [200, 204]],
}
for (const [name, [token, expected]] of Object.entries(access))
  test(`${name}: read ${expected[0]}, write ${expected[1]}`, async () => {
    const app = await anApp(tokensFile)
    assert.deepEqual(await statuses(app, token), expected)
    assert.deepEqual((await app.inject('/readyz')).json().warnings, [])
    for (const url of ['/healthz', '/metrics']) assert.equal((await app.inject(url)).statusCode, 200)
    await app.close()
  })

test('every route of the API refuses a caller without a token', async () => {
  const app = await anApp(tokensFile)
  for (const { method, path } of inventoryApi.routes) {
    if (path === sessionPath && method !== 'get') continue // signs in or out
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    const answer = await app.inject({ method: method.toUpperCase() as 'GET', url })
    assert.equal(answer.statusCode, 401, `${method} ${path}`)
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
  await app.close()
})

test('a writer of one provider cannot write the records of another', async () => {
  const app = await anApp(tokensFile)
  assert.deepEqual(await statuses(app, writer, 'p2'), [403, 403])
  const mixed = { records: [aWrite('w1'), aWrite('w2', { providerId: 'p2' })] }
  const answer = await app.inject({ method: 'PUT', url: records, headers: bearer(writer), payload: mixed })
  assert.equal(answer.statusCode, 403)
  assert.match(answer.json().detail, /writer may not update providers\.multinic\.io p2/)
  await app.close()
})

test('a writer of one provider may list the records of that provider, and reads nothing else', async () => {
  const app = await anApp(tokensFile)
  const read = async (url: string) => (await app.inject({ url, headers: bearer(writer) })).statusCode
  assert.equal(await read(`${providerRecordsPath}?providerId=p1`), 200)
  const others = ['providerId=p2', 'providerId='].map(query => `${providerRecordsPath}?${query}`)
  const paths = inventoryApi.routes.filter(
    ({ method, path }) => method === 'get' && ![providerRecordsPath, sessionPath].includes(path),
  )
  for (const url of [...others, ...paths.map(({ path }) => `${path.replaceAll(/\{\w+\}/g, 'x')}?providerId=p1`)])
    assert.ok([400, 403].includes(await read(url)), url)
  await app.close()
})

test('anonymous access is for reading: a write always needs a caller with the right', async () => {
  const connect = () => connectOwnCluster({ KUBECONFIG: cluster.api.kubeconfig })
  const options = { prefix: 'INVENTORY', audience: 'multinic', anonymous: true, connect, log: silent } as const
  const app = createInventoryApp({ store, access: await openAccess({ ...options, tokensFile }), log: silent })
  assert.deepEqual(await statuses(app), [200, 401])
  assert.deepEqual(await statuses(app, stranger), [200, 403])
  assert.deepEqual(await statuses(app, admin), [200, 204])
  assert.match((await app.inject('/readyz')).json().warnings[0], /anonymous access is on.*INVENTORY_ANONYMOUS_ACCESS/)
  await app.close()
})

test('a right that is taken away is gone with the next review', async () => {
  const access = await accessOf(cluster.api.kubeconfig, tokensFile)
  const fresh = { user: 'temporary', groups: [], by: 'file' } as const
  const { revoke } = await grant(cluster.kube, 'temporary', [rules.readInventory])
  assert.equal(await access.allows(fresh, readRight), true)
  await revoke()
  // Another identity of the same user is another cache entry.
  assert.equal(await access.allows({ ...fresh, groups: ['now'] }, readRight), false)
  await access.close()
})

test('an invalid database URL is a startup error that does not show the URL', async () => {
  const env = { INVENTORY_DATABASE_URL: 'mysql://me:s3cret@host/name', INVENTORY_DB_PATH: join(dir, 'never.db') }
  await assert.rejects(startInventory({ env, log: silent }), (error: Error) => {
    assert.match(error.message, /INVENTORY_DATABASE_URL: must have the form postgresql:/)
    assert.doesNotMatch(error.message, /s3cret/)
    return true
  })
})

test('a client above the rate limit gets a 429 with Retry-After, and other clients do not', async () => {
  let now = 0
  const app = await anApp()
  const limited = await anApp()
  limitAddresses(limited, 2, () => now)
  const ask = (remoteAddress: string, url = '/v1/interfaces/providers') => limited.inject({ url, remoteAddress })
  for (let i = 0; i < 8; i++) assert.equal((await ask('192.0.2.1')).statusCode, 200)
  const refused = await ask('192.0.2.1')
  assert.equal(refused.statusCode, 429)
  assert.equal(refused.headers['retry-after'], '1')
  assert.match(problem.parse(refused.json()).detail, /2 requests per second/)
  assert.equal((await ask('192.0.2.1', '/nothing/here')).statusCode, 429)
  assert.equal((await ask('192.0.2.1', '/healthz')).statusCode, 200)
  assert.equal((await ask('192.0.2.2')).statusCode, 200)
  now += 500
  assert.equal((await ask('192.0.2.1')).statusCode, 200)
  assert.equal((await ask('192.0.2.1')).statusCode, 429)
  await limited.close()
  await app.close()
})

test('pages of other sites cannot call the API: no CORS headers and no preflight response', async () => {
  const app = await anApp()
  const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'PUT' }
  const answers = await Promise.all([
    app.inject({ url: '/v1/interfaces/providers', headers }),
    app.inject({ method: 'OPTIONS', url: records, headers }),
    app.inject({ url: '/openapi.json', headers }),
  ])
  for (const { headers } of answers)
    assert.deepEqual(
      Object.keys(headers).filter(name => name.startsWith('access-control-')),
      [],
    )
  assert.ok([404, 405].includes(answers[1]?.statusCode ?? 0))
  await app.close()
})

const malformed: Record<string, [status: number, method: 'GET' | 'PUT', url: string, type?: string, payload?: string]> =
  {
    'a path that cannot be decoded': [400, 'GET', '/v1/inventory/node-configs/%zz'],
    'a query that cannot be decoded': [200, 'GET', '/v1/inventory/node-configs?q=%zz'],
    'a name of maximum length': [404, 'GET', `/v1/inventory/node-configs/${'x'.repeat(253)}`],
    'a body that is not JSON': [400, 'PUT', records, 'application/json', '{"records":'],
    'an empty body': [400, 'PUT', records, 'application/json', ''],
    'a body of another content type': [415, 'PUT', records, 'application/xml', '<records/>'],
    // An unknown key like any other: test/security/bombs.test.ts shows that no key changes a prototype.
    'a body with __proto__': [204, 'PUT', records, 'application/json', '{"__proto__":{"x":1},"records":[]}'],
    'a body that is too large': [413, 'PUT', records, 'application/json', `"${'x'.repeat(64 * 1024 * 1024)}"`],
    'a body with too many records': [
      400,
      'PUT',
      records,
      'application/json',
      JSON.stringify({ records: Array(201).fill(aWrite('x')) }),
    ],
  }
for (const [name, [status, method, url, type, payload]] of Object.entries(malformed))
  test(`${name} returns ${status}`, async () => {
    const lines: string[] = []
    const log = createLog({}, { level: 'error', write: line => lines.push(line) })
    const app = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, tokensFile), log })
    const answer = await app.inject({
      method,
      url,
      headers: { ...bearer(admin), ...(type && { 'content-type': type }) },
      ...(payload !== undefined && { payload }),
    })
    assert.equal(answer.statusCode, status, answer.body)
    if (status >= 400) {
      assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
      assert.doesNotMatch(problem.parse(answer.json()).detail, /no route/)
    }
    assert.deepEqual(lines, [])
    await app.close()
  })

const manyErrors: Record<string, unknown> = {
  '200 empty records': Array(200).fill({}),
  'a record with 20,000 empty interfaces': [
    { ...aWrite('x'), config: { nodeName: 'x', interfaces: Array(20_000).fill({}) } },
  ],
  'an interface with 20,000 empty routes': [
    { ...aWrite('x'), config: { nodeName: 'x', interfaces: [{ routes: Array(20_000).fill({}) }] } },
  ],
}
for (const [name, list] of Object.entries(manyErrors))
  test(`${name}: the response names at most 100 errors`, async () => {
    const app = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, tokensFile), log: silent })
    const payload = { records: list as object[] }
    const answer = await app.inject({ method: 'PUT', url: records, headers: bearer(admin), payload })
    assert.equal(answer.statusCode, 400)
    const { errors = [] } = problem.parse(answer.json())
    assert.ok(errors.length >= 1 && errors.length <= 100, `${errors.length} errors`)
    await app.close()
  })
