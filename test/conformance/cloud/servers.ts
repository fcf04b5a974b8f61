/** Servers: by id, by name, by page; renamed, changed and deleted ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerSelector } from '../../../src/contract/server-selector.ts'
import { type CloudContext, unknownId } from './context.ts'

export function serverCases(context: () => CloudContext): void {
  const names = async (query: string): Promise<string[]> => {
    const { status, body, text } = await context().ask('nova', `/v2.1/servers/detail?${query}`)
    assert.equal(status, 200, text)
    return body.servers.map((server: { name: string }) => server.name).sort()
  }

  test('the client reads names and metadata, and skips unknown servers', async () => {
    const { clients, seeds } = context()
    const found = await clients.nova.servers([...seeds.vms, unknownId])
    assert.deepEqual(
      found.sort((a, b) => (a.name < b.name ? -1 : 1)),
      [
        { id: seeds.vms[0], name: 'vm-1', metadata: { role: 'vm-1' } },
        { id: seeds.vms[1], name: 'vm-2', metadata: { role: 'vm-2' } },
      ],
    )
    const unknown = Array.from({ length: 8 }, (_, n) => unknownId.replace(/^./, String(n)))
    const many = await clients.nova.servers([...seeds.vms, ...unknown])
    assert.deepEqual(many.map(server => server.name).sort(), ['vm-1', 'vm-2'])
  })

  test('full pages have a next link', async () => {
    const { ask, cloud } = context()
    const first = await ask('nova', '/v2.1/servers/detail?limit=1')
    assert.equal(first.body.servers.length, 1)
    const [link] = first.body.servers_links
    assert.equal(link.rel, 'next')
    assert.ok(link.href.startsWith(`${cloud.urls.nova}/v2.1/servers/detail?`), link.href)
    const next = new URL(link.href)
    const second = await ask('nova', next.pathname + next.search)
    assert.notEqual(second.body.servers[0].id, first.body.servers[0].id)
    const whole = await ask('nova', '/v2.1/servers/detail')
    assert.equal(whole.body.servers_links, undefined)
    assert.deepEqual((await ask('nova', '/v2.1/servers/detail?limit=0')).body, { servers: [] })
  })

  test('only the last of repeated ids applies; a name is a regular expression', async () => {
    const [one, two] = context().seeds.vms
    assert.deepEqual(await names(`uuid=${one}&uuid=${two}`), ['vm-2'])
    assert.deepEqual(await names('name=vm-'), ['vm-1', 'vm-2'])
    assert.deepEqual(await names('name=%5Evm-1%24'), ['vm-1'])
  })

  const errors: Record<string, [path: string, status: number, body: object]> = {
    'a missing server': [
      `/servers/${unknownId}`,
      404,
      { itemNotFound: { code: 404, message: `Instance ${unknownId} could not be found.` } },
    ],
    'an invalid server id': [
      '/servers/x',
      404,
      { itemNotFound: { code: 404, message: 'Instance x could not be found.' } },
    ],
    'the interfaces of a missing server': [
      `/servers/${unknownId}/os-interface`,
      404,
      { itemNotFound: { code: 404, message: `Instance ${unknownId} could not be found.` } },
    ],
    'a limit that is not a number': [
      '/servers/detail?limit=abc',
      400,
      {
        badRequest: {
          code: 400,
          message: "Invalid input for query parameters limit. Value: abc. 'abc' does not match '^[0-9]*$'",
        },
      },
    ],
    'a missing marker': [
      `/servers/detail?marker=${unknownId}`,
      400,
      { badRequest: { code: 400, message: `marker [${unknownId}] not found` } },
    ],
    'an invalid regular expression as name': [
      '/servers/detail?name=(',
      400,
      {
        badRequest: {
          code: 400,
          message: "Invalid input for query parameters name. Value: (. '(' is not a 'regex'",
        },
      },
    ],
  }
  for (const [name, [path, status, body]] of Object.entries(errors))
    test(`Nova rejects ${name}`, async () => {
      const answer = await context().ask('nova', `/v2.1${path}`)
      assert.equal(answer.status, status)
      assert.deepEqual(answer.body, body)
    })

  test('an unknown path is 404 in plain text, unlike a missing server', async () => {
    for (const path of ['/v2.1/bogus', `/v2.1/servers/${context().seeds.vms[0]}/bogus`]) {
      const { status, headers, text } = await context().ask('nova', path)
      assert.equal(status, 404)
      assert.equal(headers['content-type'], 'text/plain; charset=UTF-8')
      assert.match(text, /^404 Not Found\n\nThe resource could not be found\./)
    }
  })

  test('a request line that is too long is 414 without a body', async () => {
    const { status, text } = await context().ask('nova', `/v2.1/servers/detail?name=${'x'.repeat(9_000)}`)
    assert.deepEqual([status, text], [414, ''])
  })

  test('the path may contain the project', async () => {
    const { ask, cloud, seeds } = context()
    const { body } = await ask('nova', `/v2.1/${cloud.projectId}/servers/${seeds.vms[0]}`)
    assert.equal(body.server.id, seeds.vms[0])
  })

  test('microversion 2.47 embeds the flavor, and the response names the microversion', async () => {
    const { ask, seeds } = context()
    const headers = { 'x-openstack-nova-api-version': '2.47' }
    const answer = await ask('nova', `/v2.1/servers/${seeds.vms[0]}`, { headers })
    assert.equal(answer.headers['x-openstack-nova-api-version'], '2.47')
    const fields = ['disk', 'ephemeral', 'extra_specs', 'original_name', 'ram', 'swap', 'vcpus']
    assert.deepEqual(Object.keys(answer.body.server.flavor).sort(), fields)
  })

  test('a renamed server with new metadata is found by its exact name, and not after its deletion', async () => {
    const { cloud, clients } = context()
    const id = await cloud.bootServer({ name: 'db.1' })
    const near = await cloud.bootServer({ name: 'db-1' })
    assert.deepEqual(
      (await clients.nova.serversByName('db.1')).map(server => server.id),
      [id],
    )
    await cloud.renameServer(id, 'db(2)')
    await cloud.setMetadata(id, { node: 'worker-7' })
    assert.deepEqual(await clients.nova.serversByName('db(2)'), [{ id, name: 'db(2)', metadata: { node: 'worker-7' } }])
    assert.deepEqual(await clients.nova.serversByName('db.1'), [])
    for (const one of [id, near]) await cloud.deleteServer(one)
    assert.deepEqual(await clients.nova.servers([id, near]), [])
    assert.equal(await clients.nova.attachmentsOf(id), undefined)
  })

  test('servers are selected by pattern, metadata and tags', async () => {
    const { cloud, clients } = context()
    const metadata = { cluster: 'a' }
    const ids = await Promise.all([
      cloud.bootServer({ name: 'pool.a-1', metadata, tags: ['gpu', 'multinic'] }),
      cloud.bootServer({ name: 'pool.a-2', metadata: { cluster: 'b' }, tags: ['multinic'] }),
      cloud.bootServer({ name: 'poolXa-3', metadata }),
    ])
    const selected = async (selector: ServerSelector) =>
      (await clients.nova.serversMatching(selector)).map(({ name }) => name).sort()
    assert.deepEqual(await selected({ namePattern: 'pool.*' }), ['pool.a-1', 'pool.a-2'])
    assert.deepEqual(await selected({ namePattern: 'pool?a-?' }), ['pool.a-1', 'pool.a-2', 'poolXa-3'])
    assert.deepEqual(await selected({ namePattern: 'Pool*' }), [])
    assert.deepEqual(await selected({ metadata }), ['pool.a-1', 'poolXa-3'])
    assert.deepEqual(await selected({ metadata: { constructor: 'a' } }), [])
    assert.deepEqual(await selected({ tags: ['multinic'] }), ['pool.a-1', 'pool.a-2'])
    assert.deepEqual(await selected({ tags: ['multinic', 'gpu'] }), ['pool.a-1'])
    assert.deepEqual(await selected({ tags: ['multinic'], metadata, namePattern: '*1' }), ['pool.a-1'])
    assert.deepEqual(await selected({ tags: ['none'] }), [])
    for (const id of ids) await cloud.deleteServer(id)
  })

  test('microversion 2.21 shows the actions of a deleted server, unlike those of an unknown one', async () => {
    const { ask, cloud, clients, seeds } = context()
    const id = await cloud.bootServer({ name: 'short-lived' })
    assert.equal(await clients.nova.wasDeleted(id), false)
    await cloud.deleteServer(id)
    assert.equal(await clients.nova.wasDeleted(id), true)
    assert.deepEqual(
      [await clients.nova.wasDeleted(seeds.vms[0]), await clients.nova.wasDeleted(unknownId)],
      [false, false],
    )

    const path = `/v2.1/servers/${id}/os-instance-actions`
    const actions = async (version: string) =>
      ask('nova', path, { headers: { 'x-openstack-nova-api-version': version } })
    const visible = await actions('2.21')
    assert.equal(visible.status, 200)
    assert.deepEqual(
      visible.body.instanceActions.map(({ action }: { action: string }) => action),
      ['delete', 'create'],
    )
    const before = await actions('2.20')
    assert.equal(before.status, 404)
    assert.deepEqual(before.body, { itemNotFound: { code: 404, message: `Instance ${id} could not be found.` } })
  })
}
