/** Decompression bombs, YAML bombs and prototype pollution. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { hashOf } from '../../src/contract/hash.ts'
import { applyMergePatch, mergePatch } from '../../src/contract/json.ts'
import { violaPath } from '../../src/contract/viola.ts'
import { kubeconfigFrom } from '../../src/kube/config.ts'
import { readNotification } from '../../src/openstack/notification.ts'
import { nodesFrom } from '../../src/viola/request.ts'
import { routingFrom } from '../../src/viola/targets/routing.ts'
import { runner } from '../support/cli.ts'
import { type Servers, startServers } from './servers.ts'

let servers: Servers
before(async () => {
  servers = await startServers()
})
after(() => servers[Symbol.asyncDispose]())

test('the CLI refuses a small response that unpacks to too many bytes', async () => {
  // Concatenated gzip members unpack to one text.
  const member = gzipSync(Buffer.alloc(32 * 1024 * 1024, 0x20), { level: 1 })
  const bomb = Buffer.concat(Array.from({ length: 3 }, () => member))
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    const { code, error } = await runner({})(
      'check',
      '--inventory',
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    )
    assert.equal(code, 2)
    assert.match(error, /the response is larger than \d+ bytes/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

const complex: Record<string, [body: string, message: RegExp]> = {
  'empty objects': [`[${'{},'.repeat(1_000_000)}{}]`, /the response has more than 1000000 elements/],
  'nested lists': ['['.repeat(1_000_000), /the response is nested deeper than 100 levels/],
}
for (const [name, [body, message]] of Object.entries(complex))
  test(`the CLI refuses a million ${name}`, async () => {
    const server = createServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { code, error } = await runner({})('check', '--inventory', url)
      assert.equal(code, 2)
      assert.match(error, message)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

const headers = () => ({ 'x-provider-id': 'p1', authorization: servers.authorization })

test('no server unpacks a compressed body', async () => {
  const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20))
  for (const [component, path] of Object.entries({ viola: violaPath, operator: '/v1/operator/plan' })) {
    const { statusCode, body } = await request(`http://127.0.0.1:${servers.ports[component]}${path}`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: bomb,
    })
    await body.dump()
    assert.equal(statusCode, 400, component)
  }
  assert.deepEqual(servers.failures, [])
})

test('a server refuses a body by its content-length before it reads it', async () => {
  for (const [component, path] of Object.entries({ viola: violaPath, operator: '/v1/operator/plan' })) {
    const { statusCode, body } = await request(`http://127.0.0.1:${servers.ports[component]}${path}`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'application/json' },
      body: Buffer.alloc(5 * 1024 * 1024, 0x20),
    })
    await body.dump()
    assert.equal(statusCode, 413, component)
  }
})

/** Nine levels of nine aliases: a few hundred bytes that expand to a billion strings. */
const yamlBomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...Array.from({ length: 9 }, (_, level) => {
    const [name, of] = [String.fromCharCode(98 + level), String.fromCharCode(97 + level)]
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${of}`).join(', ')}]`
  }),
].join('\n')

test('YAML files whose aliases expand to a billion strings are refused', async () => {
  await assert.rejects(kubeconfigFrom(`${yamlBomb}\nclusters: *i\n`), /is not valid YAML/)
  assert.throws(() => routingFrom(`${yamlBomb}\ntargets: *i\n`, { namespace: 'x' }), /is not valid YAML/)
})

const pollutingKeys = [
  '{"__proto__": {"polluted": true}}',
  '{"constructor": {"prototype": {"polluted": true}}}',
  '{"a": {"__proto__": {"polluted": true}}, "__proto__": null}',
]
test('no key changes the prototype of objects', () => {
  for (const text of pollutingKeys) {
    const value = JSON.parse(text) as Record<string, unknown>
    mergePatch(value, {})
    mergePatch({}, value)
    mergePatch({ a: {} }, value)
    applyMergePatch({ a: {} }, value)
    nodesFrom([value, { nodeName: 'w', interfaces: [value] }], 'p1')
    readNotification({ event_type: 'port.update.end', payload: { port: value, ...value } })
    hashOf(value)
    routingFrom(`targets: [${text}]`, { namespace: 'x' })
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined, text)
    assert.deepEqual(Object.keys(Object.prototype), [])
  }
})
