/** Answers of Viola, and how nodes are delivered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StubRequest, type StubResponse, startStubServer } from '../../../test/openstack/stub-server.ts'
import { violaPath } from '../../contract/viola.ts'
import { createHttp } from '../../http-client/client.ts'
import { deliver } from '../deliver/deliver.ts'
import type { NodePlan } from '../plan/plan.ts'
import { withPostOnlySupport } from './legacy/post-only-viola.ts'
import { createViolaApi } from './viola-client.ts'

const store = { list: async () => [], put: async () => {}, remove: async () => {} }

async function aViola(respond: (request: StubRequest) => StubResponse) {
  const server = await startStubServer(respond)
  const http = createHttp({ service: 'viola', timeoutMs: 2_000, attempts: 1 })
  return {
    viola: withPostOnlySupport(
      createViolaApi({ http, endpoint: `${server.url}/`, providerId: 'biz-1', token: 'secret' }),
      store,
      { endpoint: server.url, providerId: 'biz-1' },
    ),
    requests: server.requests,
    async [Symbol.asyncDispose]() {
      await http.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

test('operator 15c: the removal of a node called .. neither calls another path nor turns removals off', async () => {
  await using given = await aViola(({ method }) => ({ status: method === 'DELETE' ? 204 : 200, body: {} }))
  for (const nodeName of ['..', '.', 'worker-1'])
    assert.equal(await given.viola.remove({ nodeName, expectedSpecHash: 'x' }), 'removed')
  assert.deepEqual(
    given.requests.map(({ method, path }) => `${method} ${path}`),
    [`POST ${violaPath}`, `POST ${violaPath}`, `DELETE ${violaPath}/worker-1`],
  )
})

function aNode(n: number, more: Partial<NodePlan> = {}): NodePlan {
  const nic = { index: 0, name: 'multinic0', macAddress: '02:00:00:00:00:01', address: '10.0.0.1', cidr: '10.0.0.0/24' }
  return {
    nodeName: `worker-${n}`,
    instanceId: `vm-${n}`,
    action: 'send',
    interfaces: [nic],
    expectedSpecHash: '',
    why: [],
    ...more,
  }
}
const nodes = (count: number) => Array.from({ length: count }, (_, n) => aNode(n))
const never = new AbortController().signal
const problem = (status: number, detail: string) => ({
  status,
  body: { type: 'about:blank', title: 'x', status, detail },
})

test('the name of the provider is one line of at most 255 characters, whatever Viola answers', async () => {
  const item = { nodeName: 'worker-1', specHash: 'x', generation: 1, interfaces: [] }
  const names = ['Seoul 1', `a\n\u001b[31mb${'c'.repeat(300)}`, '']
  const items = names.map(providerName => ({ ...item, providerName }))
  await using given = await aViola(() => ({ status: 200, body: { items, resourceVersion: '1' } }))
  const [plain, long, none] = (await given.viola.list()).nodes.map(({ providerName }) => providerName)
  assert.equal(plain, 'Seoul 1')
  assert.match(long ?? '', /^a \\u001b\[31mbc+…$/)
  assert.equal(long?.length, 255)
  assert.equal(none, undefined)
})

test('a POST carries the provider, the token, the id 0 and the spec hash that it was planned on', async () => {
  await using it = await aViola(() => ({ status: 200, body: { applied: 1, output: '', results: [] } }))
  await deliver(it.viola, [aNode(1, { expectedSpecHash: 'abc' })], never)
  const [request] = it.requests
  assert.deepEqual(
    [request?.method, request?.path, request?.headers['x-provider-id'], request?.headers.authorization],
    ['POST', violaPath, 'biz-1', 'Bearer secret'],
  )
  const [node] = JSON.parse(request?.body ?? '')
  assert.deepEqual(
    [node.nodeName, node.instanceId, node.interfaces[0].id, node.expectedSpecHash],
    ['worker-1', 'vm-1', 0, 'abc'],
  )
})

for (const [status, body] of [
  [200, { applied: 1, output: 'x' }],
  [200, 'ok'],
  [201, {}],
  [202, undefined],
  [204, undefined],
] as const)
  test(`${status} with ${JSON.stringify(body) ?? 'no body'} is accepted`, async () => {
    await using it = await aViola(() => ({ status, body }))
    const { accepted, failures } = await deliver(it.viola, [aNode(1)], never)
    assert.deepEqual([[...accepted.keys()], failures.size], [['worker-1'], 0])
  })

test('each node has its own result, also in a 409 or 502', async () => {
  const results = [
    { nodeName: 'worker-0', action: 'created', specHash: 'h0' },
    { nodeName: 'worker-1', action: 'conflict', message: 'holds another' },
    { nodeName: 'worker-2', action: 'failed', message: 'refused' },
  ]
  await using it = await aViola(() => ({ status: 409, body: { applied: 1, output: '', results, detail: 'x' } }))
  const delivery = await deliver(it.viola, nodes(3), never)
  assert.deepEqual([...delivery.accepted], [['worker-0', { action: 'created', specHash: 'h0' }]])
  assert.deepEqual([...delivery.conflicts], [['worker-1', 'holds another']])
  assert.deepEqual([...delivery.failures], [['worker-2', 'refused']])
})

test('one invalid node does not block the delivery of the others', async () => {
  await using it = await aViola(({ body }) =>
    body.includes('"worker-5"')
      ? problem(400, 'mtu: too large')
      : { status: 200, body: { applied: 1, output: '', results: [] } },
  )
  const { accepted, failures } = await deliver(it.viola, nodes(8), never)
  assert.equal(accepted.size, 7)
  assert.deepEqual([...failures], [['worker-5', `viola: POST ${violaPath}: HTTP 400 mtu: too large`]])
})

test('a large change is split into requests of at most 200 nodes and 1 MiB', async () => {
  await using it = await aViola(() => ({ status: 200, body: { applied: 1, output: '', results: [] } }))
  const long = aNode(999, { instanceId: 'x'.repeat(700_000) })
  await deliver(it.viola, [...nodes(450), long, { ...long, nodeName: 'other' }], never)
  assert.deepEqual(
    it.requests.map(({ body }) => JSON.parse(body).length).sort((a, b) => b - a),
    [200, 200, 51, 1],
  )
})

for (const [name, answer, expected] of [
  ['401', problem(401, 'a token is needed'), /HTTP 401 a token is needed/],
  ['an unknown provider', problem(404, 'no cluster is known'), /HTTP 404 no cluster is known/],
  ['500', { status: 500, body: 'oops' }, /HTTP 500/],
] as const)
  test(`${name} fails every node of the request, and the message does not contain the token`, async () => {
    await using it = await aViola(() => answer)
    const { failures } = await deliver(it.viola, nodes(2), never)
    assert.equal(failures.size, 2)
    for (const message of failures.values()) {
      assert.match(message, expected)
      assert.ok(!message.includes('secret'))
    }
  })

for (const [name, status] of [
  ['404 of a router', 404],
  ['405', 405],
] as const) {
  test(`removals of a Viola with only POST (${name}) are sent as empty lists`, async () => {
    await using it = await aViola(({ method }) =>
      method === 'POST' ? { status: 200, body: { applied: 1, output: '' } } : { status, body: 'page not found' },
    )
    assert.deepEqual(await it.viola.list(), { nodes: [], reported: false })
    const removed = aNode(1, { action: 'remove', interfaces: [], expectedSpecHash: 'h' })
    assert.deepEqual([...(await deliver(it.viola, [removed], never)).removed], ['worker-1'])
    assert.deepEqual(
      it.requests.map(({ method, body }) => `${method} ${body && JSON.parse(body)[0].interfaces.length}`),
      ['GET ', 'DELETE ', 'POST 0'],
    )
  })

  test(`operator 2: after one odd answer (${name}) Viola is asked again for its list and for removals`, async () => {
    let isOdd = true
    await using it = await aViola(({ method }) => {
      if (isOdd && method !== 'POST') return { status, body: '<html>404</html>' }
      return method === 'DELETE' ? { status: 204 } : { status: 200, body: { items: [listed(1)], resourceVersion: '' } }
    })
    const removed = aNode(1, { action: 'remove', interfaces: [], expectedSpecHash: 'h' })
    await it.viola.list()
    await deliver(it.viola, [removed], never)
    isOdd = false
    const { nodes, reported } = await it.viola.list()
    assert.deepEqual([nodes.map(node => node.nodeName), reported], [['worker-1'], true])
    await deliver(it.viola, [removed], never)
    assert.equal(it.requests.at(-1)?.method, 'DELETE')
  })

  test(`operator 2: ${name} of a Viola that has answered a list before is an error, not a Viola without GET`, async () => {
    await using it = await aViola(({ previous }) =>
      previous === 0
        ? { status: 200, body: { items: [listed(1)], resourceVersion: '' } }
        : { status, body: '<html>404</html>' },
    )
    await it.viola.list()
    await assert.rejects(it.viola.list(), new RegExp(`HTTP ${status}: .*answered before`))
  })
}

test('an unknown provider in a GET is an error, not a Viola without GET', async () => {
  await using it = await aViola(() => problem(404, 'no cluster is known for provider biz-1'))
  await assert.rejects(it.viola.list(), /HTTP 404 no cluster is known/)
})

test('a removal that Viola refuses is reported as refused', async () => {
  await using it = await aViola(({ method }) =>
    method === 'POST' ? problem(400, 'empty interfaces') : { status: 405 },
  )
  const { refused } = await deliver(it.viola, [aNode(1, { action: 'remove', interfaces: [] })], never)
  assert.match(refused.get('worker-1') ?? '', /empty interfaces/)
})

test('a DELETE carries the spec hash that it was planned on; another state is a conflict', async () => {
  await using it = await aViola(() => problem(409, 'holds another'))
  const { conflicts } = await deliver(it.viola, [aNode(1, { action: 'remove', expectedSpecHash: 'h' })], never)
  assert.deepEqual([...conflicts.keys()], ['worker-1'])
  assert.equal(it.requests[0]?.query.get('expectedSpecHash'), 'h')
})

test('an unchanged list is not parsed again', async () => {
  const items = [
    { nodeName: 'worker-1', specHash: 'h', generation: 1, interfaces: [{ macAddress: '02:00:00:00:00:0A' }] },
  ]
  await using it = await aViola(({ headers }) =>
    headers['if-none-match'] === '"v1"'
      ? { status: 304 }
      : { status: 200, body: { items, resourceVersion: 'v1' }, headers: { etag: '"v1"' } },
  )
  const first = await it.viola.list()
  assert.deepEqual(first.nodes[0]?.interfaces, [{ index: 0, name: 'multinic0', macAddress: '02:00:00:00:00:0a' }])
  assert.equal((await it.viola.list()).nodes, first.nodes)
})

test('an unreadable list is an error, not an empty cluster', async () => {
  await using it = await aViola(() => ({ status: 200, body: { items: [{ nodeName: 7 }], resourceVersion: '' } }))
  await assert.rejects(it.viola.list(), /unexpected format/)
})

const listed = (n: number) => ({ nodeName: `worker-${n}`, specHash: 'h', generation: 1, interfaces: [] })

test('a list of many nodes is read page by page, and later compared by its version alone', async () => {
  await using it = await aViola(({ query, headers }) => {
    if (headers['if-none-match'] === '"v1"') return { status: 304 }
    const from = Number(query.get('cursor') ?? 0)
    const link = `</v1/k8s/multinic/node-configs?limit=500&cursor=${from + 1}>; rel="next"`
    const body = { items: [listed(from)], resourceVersion: 'v1' }
    return { status: 200, body, headers: { etag: '"v1"', ...(from < 3 && { link }) } }
  })
  const { nodes } = await it.viola.list()
  assert.equal(nodes.length, 4)
  assert.equal((await it.viola.list()).nodes, nodes)
  assert.deepEqual(
    it.requests.map(({ query }) => `${query.get('limit')} ${query.get('cursor')}`),
    ['500 null', '500 1', '500 2', '500 3', '500 null'],
  )
})

test('a list that changes between its pages is read again in full', async () => {
  await using it = await aViola(({ query, headers, previous }) => {
    if (headers['if-none-match'] !== undefined) return { status: 304 }
    const link = '<?limit=500&cursor=1>; rel="next"'
    const isFirst = !query.has('cursor')
    const body = { items: [listed(isFirst ? 0 : 1)], resourceVersion: '' }
    return { status: 200, body, headers: { etag: `"v${previous}"`, ...(isFirst && { link }) } }
  })
  await it.viola.list()
  assert.equal((await it.viola.list()).nodes.length, 2)
  assert.equal(it.requests.length, 4)
})

test('a list that leads back to itself is an error', async () => {
  await using it = await aViola(() => ({
    status: 200,
    body: { items: [listed(0)], resourceVersion: '' },
    headers: { link: '<?limit=500>; rel="next"' },
  }))
  await assert.rejects(it.viola.list(), /repeats its node configs/)
})

test('results for more nodes than were sent are ignored, whatever they contain', async () => {
  const results = Array(100_000).fill({})
  await using it = await aViola(() => ({ status: 200, body: { applied: 1, output: '', results } }))
  assert.equal((await it.viola.post([{ nodeName: 'worker-1', interfaces: [] }])).results.size, 0)
})
