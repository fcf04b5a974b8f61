import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StubResponse, startStubServer } from '../../test/openstack/stub-server.ts'
import { createHttp } from '../http-client/client.ts'
import { createContrabass, loginOf } from './contrabass.ts'

const attributes = { adminId: 'admin', adminPw: 'aXYtb2YtMTYtYnl0ZXMhIbTmd4nVOwv5TZ3f4y25wgQ=', domain: 'default' }
const data = { url: 'http://keystone:5000/v3', name: 'x', attributes }
const newer = '/v1/contrabass/admin/infra/provider/p%201'
const older = '/api/providers/p%201'

async function aContrabass(respond: (path: string) => StubResponse, endpoint = (url: string) => url) {
  const server = await startStubServer(({ path }) => respond(path))
  const http = createHttp({ service: 'contrabass', timeoutMs: 1_000, attempts: 1 })
  const contrabass = createContrabass({ http, endpoint: endpoint(server.url) })
  return {
    contrabass,
    paths: () => server.requests.map(({ path }) => path),
    async [Symbol.asyncDispose]() {
      await http.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

test('the newer path is called first, with the escaped id', async () => {
  await using it = await aContrabass(() => ({ status: 200, body: { data } }))
  const provider = await it.contrabass.provider('p 1')
  assert.deepEqual([provider.url, provider.adminId, provider.domain], ['http://keystone:5000/v3', 'admin', 'default'])
  assert.deepEqual(it.paths(), [newer])
  assert.deepEqual(loginOf(provider, 'k3y-of-multinic-', 'p1'), {
    url: 'http://keystone:5000/v3',
    identity: { method: 'password', user: { name: 'admin', domain: { name: 'default' } }, password: 'correct horse' },
    project: { id: 'p1' },
  })
})

test('on 404 the older path is called, and the path that answered is remembered', async () => {
  await using it = await aContrabass(path =>
    path === older ? { status: 200, body: { data } } : { status: 404, body: {} },
  )
  await it.contrabass.provider('p 1')
  await it.contrabass.provider('p 1')
  assert.deepEqual(it.paths(), [newer, older, older])
})

test('an endpoint with a template is the only one that is called', async () => {
  await using it = await aContrabass(
    () => ({ status: 404, body: {} }),
    url => `${url}/own/{id}/cloud/`,
  )
  await assert.rejects(it.contrabass.provider('p 1'), /HTTP 404/)
  assert.deepEqual(it.paths(), ['/own/p%201/cloud'])
})

for (const returnCode of [undefined, null, '', 200, '200'])
  test(`returnCode ${JSON.stringify(returnCode)} is success`, async () => {
    await using it = await aContrabass(() => ({ status: 200, body: { returnCode, data } }))
    assert.equal((await it.contrabass.provider('p')).adminId, 'admin')
  })

const refusals: Record<string, [body: unknown, expected: RegExp]> = {
  'another returnCode is an error even with HTTP 200': [
    { returnCode: '500', returnMessage: 'no such provider', data },
    /returnCode 500 no such provider/,
  ],
  'an answer without data is an error': [{ returnCode: 200 }, /data is missing in the answer/],
  'every missing field is named, without values': [
    { data: { attributes: { ...attributes, adminPw: '' } } },
    /invalid fields: data\.url, data\.attributes\.adminPw$/,
  ],
}
for (const [name, [body, expected]] of Object.entries(refusals))
  test(name, async () => {
    await using it = await aContrabass(() => ({ status: 200, body }))
    await assert.rejects(it.contrabass.provider('p'), (error: Error) => {
      assert.match(error.message, expected)
      assert.ok(!error.message.includes(attributes.adminPw))
      return true
    })
  })

test('RabbitMQ data is read if there is some', async () => {
  const rabbit = { rabbitMQUrls: ['amqp://a:5672', ''], rabbitMQId: 'openstack', rabbitMQPw: 'sealed' }
  await using it = await aContrabass(() => ({
    status: 200,
    body: { data: { ...data, attributes: { ...attributes, ...rabbit } } },
  }))
  assert.deepEqual((await it.contrabass.provider('p')).rabbit, {
    urls: ['amqp://a:5672'],
    user: 'openstack',
    password: 'sealed',
  })
})
