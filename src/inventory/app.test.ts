import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { request } from 'undici'
import { stringify } from 'yaml'
import { accessOf, grant, openToEveryone, rules } from '../../test/support/access.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { deviation, historyEntry, inventoryRecord, providerCatalog, searchHit } from '../contract/inventory.ts'
import { problem } from '../contract/problem.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import { silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { withRemedies } from './rows.ts'
import { openStore, type Store } from './store.ts'

let dir: string
let store: Store
let open: FastifyInstance
let closed: FastifyInstance
let cluster: TargetCluster
const [reader, admin] = ['a-token-that-reads', 'a-token-that-writes']
let ticks = 0
let betweenPuts = ''

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-app-'))
  const now = () => new Date(Date.UTC(2026, 0, 1) + 1_000 * ticks++)
  store = await openStore({ path: join(dir, 'inventory.db'), log: silent, now })
  cluster = await startTargetCluster()
  await grant(cluster.kube, 'reader', [rules.readInventory])
  await grant(cluster.kube, 'operator', [rules.readInventory, rules.writeProvider()])
  const tokens = join(dir, 'tokens.yaml')
  writeFileSync(
    tokens,
    stringify({
      tokens: [
        { user: 'reader', token: reader },
        { user: 'operator', token: admin },
      ],
    }),
  )
  open = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  closed = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, tokens), log: silent })
  await store.put([aWrite('w1', { nics: 2 }), aWrite('w2'), aWrite('w1', { providerId: 'p2', instanceId: 'vm-x' })])
  betweenPuts = now().toISOString()
  const failed = { macAddress: '02:00:00:00:00:01', status: 'Failed', reason: 'InterfaceNameInUse' } as const
  await store.put([aWrite('w2', { state: 'Failed', reason: 'ApplyFailed', interfaces: [failed] })])
})
after(async () => {
  await open.close()
  await closed.close()
  await store.close()
  await cluster.close()
  await rm(dir, { recursive: true })
})

async function get(url: string, app = open, token?: string) {
  const answer = await app.inject({ url, headers: token ? { authorization: `Bearer ${token}` } : {} })
  const isJson = String(answer.headers['content-type']).includes('json')
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.body,
    json: isJson ? answer.json() : undefined,
  }
}
const names = (records: { providerId: string; nodeName: string }[]) =>
  records.map(({ providerId, nodeName }) => `${providerId}/${nodeName}`)

test('a record has the fields of older versions with the same names', async () => {
  const { json } = await get('/v1/inventory/node-configs/w2')
  const record = inventoryRecord.parse(json)
  assert.deepEqual(Object.keys(record).slice(0, 6), [
    'providerId',
    'nodeName',
    'instanceId',
    'config',
    'lastConfigHash',
    'updatedAt',
  ])
  assert.deepEqual(Object.keys(record.config), ['nodeName', 'instanceId', 'interfaces'])
  assert.match(record.updatedAt, /^\d{4}-\d{2}-\d{2}T.*Z$/)
})

test('reasons of nodes and interfaces come with their remedies', async () => {
  const { json } = await get('/v1/inventory/node-configs/w2')
  assert.match(json.remedy, /interfaceStatuses/)
  assert.equal(json.interfaces[0].remedy, 'Rename that device.')
})

test('experience H4: what an interface waits for comes with its remedy, beside its last state', () => {
  const pending = { reason: 'Paused', message: 'paused' }
  const record = withRemedies({
    ...aWrite('w9'),
    updatedAt: '2026-01-01T00:00:00Z',
    interfaces: [{ status: 'Configured', pending }],
  })
  assert.deepEqual(record.interfaces, [
    { status: 'Configured', pending: { ...pending, remedy: reasonText('Paused')?.remedy } },
  ])
})

const lists: Record<string, string[]> = {
  '/v1/inventory/node-configs': ['p1/w1', 'p1/w2', 'p2/w1'],
  '/v1/inventory/node-configs?providerId=p1': ['p1/w1', 'p1/w2'],
  '/v1/inventory/node-configs?nodeName=w1': ['p1/w1', 'p2/w1'],
  '/v1/inventory/node-configs?nodeName=w1&providerId=p2': ['p2/w1'],
  '/v1/inventory/node-configs?instanceId=vm-w2': ['p1/w2'],
  '/v1/inventory/node-configs?providerId=': ['p1/w1', 'p1/w2', 'p2/w1'],
  '/v1/inventory/node-configs?q=port-w1-1': ['p1/w1'],
  '/v1/inventory/node-configs?q=VM-X': [],
  '/v1/inventory/node-configs?state=Failed': ['p1/w2'],
  '/v1/inventory/node-configs?state=Failed&subnetId=none': [],
  '/v1/inventory/node-configs?at=2020-01-01T00:00:00Z': [],
  '/v1/interfaces/node-configs?providerId=p1': ['p1/w1', 'p1/w2'],
  '/v1/interfaces/node-configs?providerId=unknown': [],
  '/v1/interfaces/node-configs/by-instance/vm-w1': ['p1/w1'],
  '/v1/interfaces/node-configs/by-instance/vm-w1?providerId=p1': ['p1/w1'],
}

for (const [url, expected] of Object.entries(lists)) {
  test(`${url} → ${expected.join(', ') || 'none'}`, async () => {
    const { status, json, body } = await get(url)
    assert.equal(status, 200)
    assert.deepEqual(names(json), expected)
    assert.ok(body.endsWith('\n'))
  })
}

const refusals: Record<string, [status: number, detail: RegExp]> = {
  '/v1/inventory/node-configs/unknown': [404, /^not found$/],
  '/v1/inventory/node-configs/unknown/history': [404, /^not found$/],
  '/v1/inventory/node-configs/w1': [400, /^providerId required: several providers have a node w1: p1, p2$/],
  '/v1/inventory/node-configs/w1/history': [400, /^providerId required/],
  '/v1/interfaces/node-configs': [400, /^providerId required$/],
  '/v1/interfaces/node-configs/by-instance/unknown': [404, /^not found$/],
  '/v1/interfaces/node-configs/by-instance/%20': [400, /^instanceId required$/],
  '/v1/inventory/node-configs?limit=0': [400, /^limit must be/],
  '/v1/inventory/node-configs?cursor=nonsense': [400, /^cursor is invalid/],
  '/v1/inventory/node-configs?at=yesterday': [400, /^at must be/],
  '/v1/elsewhere': [404, /no route for GET/],
}

for (const [url, [status, detail]] of Object.entries(refusals)) {
  test(`${url} returns ${status}`, async () => {
    const answer = await get(url)
    assert.equal(answer.status, status)
    assert.match(problem.parse(answer.json).detail, detail)
  })
}

test('the Link header points to the next page', async () => {
  const first = await get('/v1/inventory/node-configs?limit=2')
  assert.deepEqual(names(first.json), ['p1/w1', 'p1/w2'])
  const next = /^<(.*)>; rel="next"$/.exec(String(first.headers['link']))?.[1] ?? assert.fail('no next page')
  const second = await get(next)
  assert.deepEqual(names(second.json), ['p2/w1'])
  assert.equal(second.headers['link'], undefined)
})

test('history lists the changes, and ?at= returns the state at that time', async () => {
  const { json } = await get('/v1/inventory/node-configs/w2/history')
  const entries = json.map((entry: unknown) => historyEntry.parse(entry))
  assert.deepEqual(
    entries.map(({ what }: { what: string }) => what),
    ['status', 'created'],
  )
  assert.equal(entries[0].before.state, undefined)
  assert.equal(entries[0].after.state, 'Failed')
  assert.deepEqual(entries[0].after, withRemedies(entries[0].after), 'an entry has the remedies of its reasons')
  assert.ok(entries[0].after.remedy)
  const then = await get(`/v1/inventory/node-configs/w2?at=${betweenPuts}`)
  assert.equal(then.status, 200)
  assert.equal(then.json.state, undefined)
})

test('a read returns 304 until something changes', async () => {
  const url = '/v1/interfaces/node-configs?providerId=p2'
  const { headers } = await get(url)
  const again = () => open.inject({ url, headers: { 'if-none-match': String(headers['etag']) } })
  assert.equal((await again()).statusCode, 304)
  await store.put([aWrite('w1', { providerId: 'p2', instanceId: 'vm-x', state: 'Configured' })])
  assert.equal((await again()).statusCode, 200)
})

test('search, deviations, the history of all nodes and CSV', async () => {
  const hits = (await get('/v1/inventory/search?q=port-w1-1')).json.map((hit: unknown) => searchHit.parse(hit))
  assert.deepEqual(hits, [
    { kind: 'port', value: 'port-w1-1', providerId: 'p1', nodeName: 'w1', interface: 'multinic1' },
  ])
  assert.equal((await get('/v1/inventory/search')).status, 400)
  const deviations = (await get('/v1/inventory/deviations?providerId=p1')).json
  for (const one of deviations) deviation.parse(one)
  assert.equal(deviations.length, 3)
  assert.ok((await get('/v1/inventory/history?limit=2')).json.length === 2)
  const table = await get('/v1/inventory/node-configs?format=csv&providerId=p1')
  assert.match(String(table.headers['content-type']), /^text\/csv/)
  assert.equal(table.body.trimEnd().split('\r\n').length, 4)
})

test('the event stream sends changes as they happen, and a reader that reconnects gets the changes it missed', async () => {
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  async function connect(headers: Record<string, string>) {
    const { body } = await request(`${url}/v1/inventory/events?providerId=live`, { headers })
    const events: { id: string; what: string }[] = []
    const ended = (async () => {
      let text = ''
      for await (const piece of body) {
        text += piece
        events.splice(0)
        for (const [, id = '', what = ''] of text.matchAll(/id: (\d+)\nevent: (\w+)\ndata: .*\n\n/g))
          events.push({ id, what })
      }
    })().catch(() => {})
    return { events, ended, disconnect: () => body.destroy() }
  }
  const what = ({ events }: { events: { what: string }[] }) => events.map(event => event.what).join(' ')
  const first = await connect({})
  await store.put([aWrite('x', { providerId: 'live' }), aWrite('y', { providerId: 'other' })])
  await eventually(() => assert.equal(what(first), 'created'))
  first.disconnect()
  await first.ended
  await store.put([aWrite('x', { providerId: 'live', nics: 2 })])
  await store.put([aWrite('x', { providerId: 'live', removed: true })])
  const second = await connect({ 'last-event-id': first.events[0]?.id ?? '' })
  await eventually(() => assert.equal(what(second), 'config removed'))
  const withUnknownId = await connect({ 'last-event-id': '999999999' })
  await store.put([aWrite('z', { providerId: 'live' })])
  await eventually(() => assert.equal(what(withUnknownId), 'created'))
  await store.put([aWrite('z', { providerId: 'live', removed: true })])
  withUnknownId.disconnect()
  await withUnknownId.ended
  await app.close()
  await second.ended
})

test('a reader that missed a thousand changes gets all of them', async () => {
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  try {
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const many = Array.from({ length: 1_000 }, (_, index) => aWrite(`n${index}`, { providerId: 'many', nics: 10 }))
    await store.put(many)
    const { body } = await request(`${url}/v1/inventory/events?providerId=many&after=0`, { bodyTimeout: 10_000 })
    const mark = 'event: created\n'
    let [events, bytes, rest] = [0, 0, '']
    for await (const piece of body) {
      bytes += piece.length
      events += (rest + piece).split(mark).length - 1
      rest = (rest + piece).slice(1 - mark.length)
      if (events >= many.length) break
    }
    assert.ok(bytes > 1.5 * 1024 * 1024, `${bytes} bytes do not exceed the limit of unread data`)
    await store.put(many.map(write => ({ ...write, removed: true })))
  } finally {
    await app.close()
  }
})

test('providers are listed with their nodes', async () => {
  const { providers } = providerCatalog.parse((await get('/v1/interfaces/providers')).json)
  assert.deepEqual(
    providers.slice(-2).map(({ providerId, nodeCount }) => [providerId, nodeCount]),
    [
      ['p1', 2],
      ['p2', 1],
    ],
  )
})

test('writing requires a caller with the right, and a removed node keeps its history', async () => {
  const put = (app: FastifyInstance, token: string, payload: object) =>
    app.inject({ method: 'PUT', url: '/v1/inventory/records', headers: { authorization: `Bearer ${token}` }, payload })
  const records = [aWrite('sent', { providerId: 'remote' })]
  assert.equal((await put(closed, 'an-unknown-token', { records })).statusCode, 401)
  assert.equal((await put(closed, reader, { records })).statusCode, 403)
  assert.equal((await store.list({ providerId: 'remote' })).length, 0)

  const wrong = await put(closed, admin, { records: [{ ...records[0], lastConfigHash: 5, why: undefined }] })
  assert.equal(wrong.statusCode, 400)
  assert.deepEqual(
    problem.parse(wrong.json()).errors?.map(({ path }) => path),
    ['records[0].lastConfigHash', 'records[0].why'],
  )

  assert.equal((await put(closed, admin, { records })).statusCode, 204)
  assert.equal((await store.list({ providerId: 'remote' })).length, 1)
  assert.equal(
    (await put(closed, admin, { records: [aWrite('sent', { providerId: 'remote', removed: true })] })).statusCode,
    204,
  )
  assert.equal((await get('/v1/inventory/node-configs/sent')).status, 404)
  assert.equal((await get('/v1/inventory/node-configs/sent/history')).json.length, 2)
})

test('a write that waited for the database until its caller gave up is refused, and replaces no newer record', async () => {
  const access = await accessOf(cluster.api.kubeconfig, join(dir, 'tokens.yaml'))
  const slow = createInventoryApp({ store, access, log: silent, maxWriteWaitMs: -1 })
  const late = await slow.inject({
    method: 'PUT',
    url: '/v1/inventory/records',
    headers: { authorization: `Bearer ${admin}` },
    payload: { records: [aWrite('late')] },
  })
  assert.deepEqual(
    [late.statusCode, problem.parse(late.json()).detail],
    [503, 'the write waited too long; send it again'],
  )
  assert.equal(await store.get('p1', 'late'), undefined)
  await slow.close()
})

test('reads require a caller with the right, unless anonymous access is on, and /readyz warns then', async () => {
  for (const url of Object.keys(lists)) assert.equal((await get(url, closed)).status, 401, url)
  assert.equal((await get('/v1/interfaces/providers', closed, reader)).status, 200)
  assert.equal((await get('/v1/interfaces/providers', closed, admin)).status, 200)
  assert.equal((await get('/healthz', closed)).status, 200)
  assert.match((await get('/readyz')).json.warnings[0], /anonymous access is on/)
  assert.deepEqual((await get('/readyz', closed)).json.warnings, [])
})

test('a wrong method returns 405 with the allowed methods', async () => {
  const answer = await open.inject({ method: 'POST', url: '/v1/interfaces/providers' })
  assert.equal(answer.statusCode, 405)
  assert.equal(answer.headers['allow'], 'GET')
})

test('the API documentation, the OpenAPI document and the metrics are served', async () => {
  assert.match((await get('/openapi.yaml')).body, /^openapi: 3\.1\.0/)
  assert.ok((await get('/openapi.json')).json.paths['/v1/interfaces/providers'])
  assert.match((await get('/docs')).body, /inventory API/)
  assert.match((await get('/metrics')).body, /process_cpu/)
})
