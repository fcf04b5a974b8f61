import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, answering } from '../../test/openstack/stub-server.ts'
import { createHttp } from '../http-client/client.ts'
import { createContrabass, loginOf } from './contrabass.ts'

const attributes = { adminId: 'admin', adminPw: 'aXYtb2YtMTYtYnl0ZXMhIbTmd4nVOwv5TZ3f4y25wgQ=', domain: 'default' }
const data = { url: 'http://keystone:5000/v3', name: 'x', attributes }
const newer = '/v1/contrabass/admin/infra/provider/p%201'
const older = '/api/providers/p%201'

async function asking(answer: (path: string) => Answered, at = (url: string) => url) {
  const server = await answering(({ path }) => answer(path))
  const http = createHttp({ service: 'contrabass', timeoutMs: 1_000, attempts: 1 })
  const contrabass = createContrabass({ http, endpoint: at(server.url) })
  return {
    contrabass,
    paths: () => server.asked.map(({ path }) => path),
    async [Symbol.asyncDispose]() {
      await http.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

test('the newer path is asked first, with the id as one piece of the path', async () => {
  await using it = await asking(() => ({ status: 200, body: { data } }))
  const provider = await it.contrabass.provider('p 1')
  assert.deepEqual([provider.url, provider.adminId, provider.domain], ['http://keystone:5000/v3', 'admin', 'default'])
  assert.deepEqual(it.paths(), [newer])
  assert.equal(loginOf(provider, 'k3y-of-multinic-').password, 'correct horse')
})

test('on 404 the older path is asked, and which one answered is remembered', async () => {
  await using it = await asking(path => (path === older ? { status: 200, body: { data } } : { status: 404, body: {} }))
  await it.contrabass.provider('p 1')
  await it.contrabass.provider('p 1')
  assert.deepEqual(it.paths(), [newer, older, older])
})

test('an endpoint with a template is asked as it says, and nowhere else', async () => {
  await using it = await asking(
    () => ({ status: 404, body: {} }),
    url => `${url}/own/{id}/cloud/`,
  )
  await assert.rejects(it.contrabass.provider('p 1'), /HTTP 404/)
  assert.deepEqual(it.paths(), ['/own/p%201/cloud'])
})

for (const returnCode of [undefined, null, '', 200, '200'])
  test(`returnCode ${JSON.stringify(returnCode)} is success`, async () => {
    await using it = await asking(() => ({ status: 200, body: { returnCode, data } }))
    assert.equal((await it.contrabass.provider('p')).adminId, 'admin')
  })

const refusals: Record<string, [body: unknown, said: RegExp]> = {
  'another returnCode is an error even with HTTP 200': [
    { returnCode: '500', returnMessage: 'no such provider', data },
    /returnCode 500 no such provider/,
  ],
  'an answer without data is an error': [{ returnCode: 200 }, /has no data/],
  'every missing field is named, without the rest': [
    { data: { attributes: { ...attributes, adminPw: '' } } },
    /not usable: data\.url, data\.attributes\.adminPw$/,
  ],
}
for (const [name, [body, said]] of Object.entries(refusals))
  test(name, async () => {
    await using it = await asking(() => ({ status: 200, body }))
    await assert.rejects(it.contrabass.provider('p'), (error: Error) => {
      assert.match(error.message, said)
      assert.ok(!error.message.includes(attributes.adminPw))
      return true
    })
  })

test('RabbitMQ data comes along where there is some', async () => {
  const rabbit = { rabbitMQUrls: ['amqp://a:5672', ''], rabbitMQId: 'openstack', rabbitMQPw: 'sealed' }
  await using it = await asking(() => ({
    status: 200,
    body: { data: { ...data, attributes: { ...attributes, ...rabbit } } },
  }))
  assert.deepEqual((await it.contrabass.provider('p')).rabbit, {
    urls: ['amqp://a:5672'],
    user: 'openstack',
    password: 'sealed',
  })
})
