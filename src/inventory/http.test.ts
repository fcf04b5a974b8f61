/** Access control, rate limit and malformed requests over HTTP. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { json, serve } from '../../test/support/http-stub.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { problem } from '../contract/problem.ts'
import { openOwnReviews } from '../server/token-review.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openInventoryAuth } from './auth.ts'
import { startInventory } from './main.ts'
import { limitRate } from './rate-limit.ts'
import { openStore, type Store } from './store.ts'

let dir: string
let store: Store
let tokensFile: string
const [reader, admin] = ['a-token-that-reads', 'a-token-that-writes']
const viewer = 'system:serviceaccount:monitoring:viewer'
const records = '/v1/inventory/records'

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-http-'))
  store = await openStore({ path: join(dir, 'inventory.db'), log: silent })
  await store.put([aWrite('w1')])
  tokensFile = join(dir, 'tokens.yaml')
  const tokens = [
    { name: 'reader', token: reader, roles: ['read'] },
    { name: 'operator', token: admin, roles: ['admin'] },
    { name: 'viewer', user: viewer, roles: ['read'] },
  ]
  writeFileSync(tokensFile, stringify({ tokens }))
})
after(async () => {
  await store.close()
  await rm(dir, { recursive: true })
})

type Auth = Parameters<typeof openInventoryAuth>
async function anApp(file?: Auth[0], options?: Auth[2]) {
  return createInventoryApp({ store, auth: await openInventoryAuth(file, silent, options), log: silent })
}
const bearer = (token: string | undefined) => (token === undefined ? {} : { authorization: `Bearer ${token}` })

const access: Record<
  string,
  [file: boolean, openReads: boolean | undefined, token: string | undefined, reads: number]
> = {
  'without a token file everyone may read': [false, undefined, undefined, 200],
  'without a token file reads can be forbidden': [false, false, undefined, 401],
  'with a token file reads require a token': [true, undefined, undefined, 401],
  'with a token file a token with role read may read': [true, undefined, reader, 200],
  'with a token file everyone may read if configured': [true, true, undefined, 200],
}
for (const [name, [file, openReads, token, reads]] of Object.entries(access))
  test(name, async () => {
    const app = await anApp(file ? tokensFile : undefined, { openReads })
    const read = await app.inject({ url: '/v1/interfaces/providers', headers: bearer(token) })
    assert.equal(read.statusCode, reads)
    if (reads === 401) assert.equal(read.headers['www-authenticate'], 'Bearer')
    const write = await app.inject({ method: 'PUT', url: records, headers: bearer(token), payload: { records: [] } })
    assert.ok([401, 403].includes(write.statusCode), 'writing requires an admin token')
    const warned = (await app.inject('/readyz')).json().warnings.length > 0
    assert.equal(warned, reads === 200 && token === undefined, '/readyz warns about open reads')
    await app.close()
  })

test('a Kubernetes user has the roles that the token file gives it', async () => {
  const users: Record<string, string> = { 'token-of-the-viewer': viewer, 'token-of-somebody': 'somebody' }
  let failing = false
  const cluster = await serve(({ body }, response) => {
    if (failing) return json(response, 403, { kind: 'Status', code: 403, message: 'tokenreviews are forbidden' })
    const username = users[(body as { spec: { token: string } }).spec.token]
    const status = username ? { authenticated: true, user: { username }, audiences: ['inventory'] } : {}
    return json(response, 201, { kind: 'TokenReview', status })
  })
  const kubeconfig = join(dir, 'kubeconfig')
  const one = { name: 'here', cluster: { server: cluster.url }, user: {}, context: { cluster: 'here', user: 'here' } }
  const all = { clusters: [one], users: [one], contexts: [one], 'current-context': 'here' }
  writeFileSync(kubeconfig, stringify({ apiVersion: 'v1', kind: 'Config', ...all }, { aliasDuplicateObjects: false }))
  const app = await anApp(tokensFile, { reviews: openOwnReviews({ KUBECONFIG: kubeconfig }, 'inventory') })
  const status = async (token: string, method: 'GET' | 'PUT' = 'GET') =>
    (
      await app.inject({
        method,
        url: method === 'GET' ? '/v1/interfaces/providers' : records,
        headers: bearer(token),
        ...(method === 'PUT' && { payload: { records: [] } }),
      })
    ).statusCode
  try {
    assert.equal(await status('token-of-the-viewer'), 200)
    assert.equal(await status('token-of-the-viewer', 'PUT'), 403)
    assert.equal(await status('token-of-somebody'), 403)
    assert.equal(await status('token-of-nobody'), 401)
    assert.equal(await status(reader), 200)
    assert.equal(cluster.requests.length, 3, 'one TokenReview per token, and none for tokens of the file')
    failing = true
    assert.equal(await status('token-during-failure'), 503)
  } finally {
    await app.close()
    await cluster.close()
  }
})

test('TokenReview without a token file is a startup error', async () => {
  const env = { INVENTORY_TOKEN_REVIEW: 'true', INVENTORY_DB_PATH: join(dir, 'never.db') }
  await assert.rejects(startInventory({ env, log: silent }), /INVENTORY_TOKEN_REVIEW: requires INVENTORY_TOKENS_FILE/)
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
  const limited = createInventoryApp({ store, auth: await openInventoryAuth(undefined, silent), log: silent })
  limitRate(limited, 2, () => now)
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
      JSON.stringify({ records: Array(5_001).fill(aWrite('x')) }),
    ],
  }
for (const [name, [status, method, url, type, payload]] of Object.entries(malformed))
  test(`${name} returns ${status}`, async () => {
    const lines: string[] = []
    const log = createLog({}, { level: 'error', write: line => lines.push(line) })
    const app = createInventoryApp({ store, auth: await openInventoryAuth(tokensFile, silent, {}), log })
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
