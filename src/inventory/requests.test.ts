/** What the API does with requests that it does not serve, and that its document describes every parameter exactly. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { openToEveryone } from '../../test/support/access.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { inventoryApi } from './api.ts'
import { createInventoryApp } from './app.ts'
import { openStore, type Store } from './store.ts'

let store: Store
let app: FastifyInstance
let port: number
before(async () => {
  store = await openStore({ path: ':memory:', log: silent })
  await store.put([aWrite('a')])
  app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
})
after(async () => {
  await app.close()
  await store.close()
})

const reads = inventoryApi.routes.filter(({ method, path }) => method === 'get' && path.startsWith('/v1/in'))
const urlOf = (path: string) => path.replace('{nodeName}', 'a').replace('{instanceId}', 'vm-a')

test('experience Low: an unknown query parameter is refused with its name', async () => {
  for (const { path } of reads) {
    const answer = await app.inject({ url: `${urlOf(path)}?nodName=a` })
    assert.equal(answer.statusCode, 400, path)
    assert.match(answer.json().detail, /unknown query parameter.*nodName/, path)
  }
  assert.equal((await app.inject({ url: '/v1/inventory/node-configs?constructor=1' })).statusCode, 400)
})

test('experience Low: TRACE and QUERY are refused with 405', async () => {
  for (const method of ['TRACE', 'QUERY', 'OPTIONS', 'PATCH'])
    assert.match(await statusLine(`${method} /v1/inventory/node-configs HTTP/1.1`), /^HTTP\/1\.1 405 /, method)
})

function statusLine(first: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${first}\r\nhost: x\r\nconnection: close\r\n\r\n`))
    socket.once('data', data => {
      resolve(data.toString().split('\r\n', 1)[0] ?? '')
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

test('experience Low: an unknown node is a 404 for every If-None-Match', async () => {
  const { headers } = await app.inject({ url: '/v1/inventory/node-configs/a' })
  for (const etag of [String(headers['etag']), '*']) {
    const ask = async (name: string) =>
      (await app.inject({ url: `/v1/inventory/node-configs/${name}`, headers: { 'if-none-match': etag } })).statusCode
    assert.equal(await ask('a'), 304)
    assert.equal(await ask('nobody'), 404)
  }
})

interface Parameter {
  name: string
  in: string
  schema: { type: string; format?: string; minimum?: number; maximum?: number; enum?: string[] }
}

test('experience Low: the document has the exact type of every parameter', async () => {
  const { paths } = (await app.inject({ url: '/openapi.json' })).json()
  for (const { path, required = [] } of reads) {
    const parameters: Parameter[] = paths[path].get.parameters
    const others = required.map(name => `${name}=p1&`).join('')
    const statusFor = async (name: string, value: string | number) =>
      (await app.inject({ url: `${urlOf(path)}?${others}${name}=${encodeURIComponent(value)}` })).statusCode
    for (const { name, schema } of parameters.filter(one => one.in === 'query')) {
      if (['limit', 'before', 'after'].includes(name)) assert.equal(schema.type, 'integer', `${path} ${name}`)
      if (name === 'at') assert.equal(schema.format, 'date-time', path)
      if (schema.type === 'integer' && name !== 'after') {
        const { minimum = 0, maximum = 0 } = schema
        assert.equal(await statusFor(name, minimum - 1), 400, `${path} ${name}`)
        if (maximum < Number.MAX_SAFE_INTEGER) assert.equal(await statusFor(name, maximum + 1), 400, `${path} ${name}`)
        assert.equal(await statusFor(name, maximum), 200, `${path} ${name}`)
      }
      if (schema.format === 'date-time') assert.equal(await statusFor(name, 'yesterday'), 400, path)
      if (schema.enum) assert.equal(await statusFor(name, 'other'), 400, `${path} ${name}`)
    }
  }
})
