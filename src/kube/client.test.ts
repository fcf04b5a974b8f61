import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type Handler, type HttpStub, json, refuse, serve } from '../../test/support/http-stub.ts'
import { type ConnectOptions, connectKube, type KubeClient } from './client.ts'
import type { ClusterAccess } from './config.ts'
import { isGone, isNotFound, isRetryable, KubeError } from './errors.ts'
import { nodes, pods, secrets } from './resources.ts'
import type { PodObject } from './types.ts'

async function withServer(
  handler: Handler,
  use: (kube: KubeClient, server: HttpStub) => Promise<void>,
  options: ConnectOptions & { access?: Partial<ClusterAccess> } = {},
): Promise<void> {
  const server = await serve(handler)
  const kube = connectKube({ server: server.url, ...options.access }, { maxRetryDelayMs: 50, ...options })
  try {
    await use(kube, server)
  } finally {
    await kube.close()
    await server.close()
  }
}

const key = { namespace: 'n', name: 'p' }
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec: { containers: [] } }

test('200 sequential requests share at most two connections', async () => {
  await withServer(
    (_, response) => json(response, 200, pod),
    async (kube, server) => {
      for (let at = 0; at < 200; at++) await kube.get(pods, key)
      assert.ok(server.connections() <= 2, `${server.connections()} connections`)
    },
  )
})

test('open watches never block a request', async () => {
  const handler: Handler = ({ query }, response) => {
    if (query.get('watch')) response.writeHead(200).flushHeaders()
    else json(response, 200, pod)
  }
  await withServer(handler, async (kube, server) => {
    const over = new AbortController()
    const watches = Array.from({ length: 100 }, async () => {
      for await (const event of kube.watch(pods, { resourceVersion: '1', signal: over.signal })) assert.fail(event.type)
    })
    await eventually(() => assert.equal(server.requests.length, 100))
    assert.deepEqual(await kube.get(pods, key), pod)
    over.abort()
    await Promise.all(watches)
  })
})

test('responses lack managedFields, and items of a list have a kind', async () => {
  const metadata = { ...key, managedFields: [{ manager: 'kubectl' }] }
  const handler: Handler = ({ path }, response) =>
    path.endsWith('/p')
      ? json(response, 200, { ...pod, metadata })
      : json(response, 200, { metadata: { resourceVersion: '7' }, items: [{ metadata, spec: { containers: [] } }] })
  await withServer(handler, async kube => {
    assert.deepEqual(await kube.get(pods, key), pod)
    assert.deepEqual(await kube.list(pods), { items: [pod], resourceVersion: '7' })
  })
})

test('paths, queries and bodies follow the Kubernetes API', async () => {
  const handler: Handler = (_, response) => json(response, 200, { ...pod, items: [] })
  await withServer(handler, async (kube, server) => {
    const lastRequest = () => {
      const { method, path, query, headers, body } = server.requests.at(-1) ?? assert.fail()
      const type = headers['content-type'] ? ` ${headers['content-type']}` : ''
      return [`${method} ${path}${query.size ? `?${query}` : ''}${type}`, body]
    }
    await kube.list(nodes, { labelSelector: 'a in (b,c)', fieldSelector: 'metadata.name=x' })
    const query = 'labelSelector=a+in+%28b%2Cc%29&fieldSelector=metadata.name%3Dx&limit=200'
    assert.deepEqual(lastRequest(), [`GET /api/v1/nodes?${query}`, undefined])
    await kube.create(pods, pod, { dryRun: true })
    assert.deepEqual(lastRequest(), ['POST /api/v1/namespaces/n/pods?dryRun=All application/json', pod])
    await kube.patch(pods, key, { a: null })
    assert.deepEqual(lastRequest(), ['PATCH /api/v1/namespaces/n/pods/p application/merge-patch+json', { a: null }])
    await kube.patchStatus(pods, key, { phase: 'Running' }, { resourceVersion: '5' })
    assert.deepEqual(lastRequest(), [
      'PATCH /api/v1/namespaces/n/pods/p/status application/merge-patch+json',
      { metadata: { resourceVersion: '5' }, status: { phase: 'Running' } },
    ])
    await kube.apply(secrets, { metadata: key, data: {} }, { fieldManager: 'viola', force: true })
    assert.deepEqual(lastRequest(), [
      'PATCH /api/v1/namespaces/n/secrets/p?fieldManager=viola&force=true application/apply-patch+yaml',
      { apiVersion: 'v1', kind: 'Secret', metadata: key, data: {} },
    ])
    await kube.delete(pods, key, { propagation: 'Background', uid: 'u', dryRun: true })
    assert.deepEqual(lastRequest(), [
      'DELETE /api/v1/namespaces/n/pods/p application/json',
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Background',
        preconditions: { uid: 'u' },
        dryRun: ['All'],
      },
    ])
  })
})

test('an object without its namespace is rejected before the request', async () => {
  await withServer(
    (_, response) => json(response, 200, pod),
    async (kube, server) => {
      await assert.rejects(kube.get(pods, { name: 'p' }), /Pod p: metadata.namespace is required/)
      assert.equal(server.requests.length, 0)
    },
  )
})

test('requests keep the path of the server URL', async () => {
  const server = await serve((_, response) => json(response, 200, pod))
  const kube = connectKube({ server: `${server.url}/k8s/clusters/one` })
  await kube.get(pods, key)
  assert.equal(server.requests[0]?.path, '/k8s/clusters/one/api/v1/namespaces/n/pods/p')
  await kube.close()
  await server.close()
})

test('a list reads all pages, and starts again when they expire', async () => {
  let expired = false
  const handler: Handler = ({ query }, response) => {
    const from = Number(query.get('continue') ?? 0)
    if (from === 2 && !expired) {
      expired = true
      refuse(response, 410, 'Expired')
      return
    }
    const items = [{ metadata: { name: `n${from}` } }]
    json(response, 200, { items, metadata: { resourceVersion: '9', ...(from < 3 && { continue: `${from + 1}` }) } })
  }
  await withServer(handler, async (kube, server) => {
    const { items } = await kube.list(nodes)
    assert.deepEqual(
      items.map(item => item.metadata.name),
      ['n0', 'n1', 'n2', 'n3'],
    )
    assert.equal(server.requests.length, 7)
  })
})

test('a list whose pages always expire is read as one page at last', async () => {
  const handler: Handler = ({ query }, response) => {
    if (query.get('continue')) refuse(response, 410, 'Expired')
    else if (query.get('limit'))
      json(response, 200, { items: [{ metadata: { name: 'a' } }], metadata: { continue: '1' } })
    else json(response, 200, { items: [], metadata: { resourceVersion: '3' } })
  }
  await withServer(handler, async kube => assert.equal((await kube.list(nodes)).resourceVersion, '3'))
})

for (const text of ['{}', 'null', '"x"', '{"items":"x"}', '{"items":{}}', '<html></html>', '{"items":[{"a":"\xff"}]}'])
  test(`${text} is not an empty list`, async () => {
    const handler: Handler = (_, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from(text, 'latin1'))
    await withServer(handler, kube => assert.rejects(kube.list(pods), /list of pods: the response is not a list/))
  })

test('a list whose pages never end is refused', async () => {
  const annotations = { text: 'x'.repeat(8 * 1024 * 1024) }
  const handler: Handler = (_, response) =>
    json(response, 200, { metadata: { continue: 'more' }, items: [{ ...pod, metadata: { ...key, annotations } }] })
  await withServer(handler, async (kube, server) => {
    await assert.rejects(kube.list(pods), /list of pods: more than \d+ bytes/)
    assert.equal(server.requests.length, 12)
    const keep = ({ metadata: { name }, ...rest }: PodObject): PodObject => ({ ...rest, metadata: { name } })
    const stop = AbortSignal.timeout(1_000)
    await assert.rejects(kube.list(pods, { keep, signal: stop }), /abort/i, 'what is not kept does not count')
  })
})

test('a response is refused above the size of a page, and that of a write above the size of an object', async () => {
  const sized = (mebibytes: number) => ({
    ...pod,
    metadata: { ...key, annotations: { x: 'x'.repeat(mebibytes << 20) } },
  })
  let body: object = {}
  const handler: Handler = (_, response) => json(response, 200, body)
  await withServer(handler, async kube => {
    body = { items: [sized(15)], metadata: {} }
    assert.equal((await kube.list(pods)).items.length, 1)
    body = { items: [sized(17)], metadata: {} }
    await assert.rejects(kube.list(pods), /the response: is longer than 16777216 bytes/)
    body = sized(3)
    assert.equal((await kube.create(pods, pod)).metadata.name, key.name)
    body = sized(5)
    await assert.rejects(kube.create(pods, pod), /the response: is longer than 4194304 bytes/)
  })
})

test('a list of empty pages without an end is refused', async () => {
  const handler: Handler = (_, response) => json(response, 200, { metadata: { continue: 'more' }, items: [] })
  await withServer(handler, async (kube, server) => {
    await assert.rejects(kube.list(pods), /list of pods: more than \d+ bytes/)
    assert.equal(server.requests.length, 1_537)
  })
})

test('a read from an overloaded server is retried up to the limit', async () => {
  let busy = 2
  const handler: Handler = (_, response) => {
    if (busy-- > 0) refuse(response, busy ? 429 : 503, 'Busy', { 'retry-after': '0' })
    else json(response, 200, pod)
  }
  await withServer(handler, async (kube, server) => {
    assert.deepEqual(await kube.get(pods, key), pod)
    assert.equal(server.requests.length, 3)
    busy = 1_000
    await assert.rejects(kube.get(pods, key), (error: KubeError) => error.status === 429 && error.retryAfter === 0)
    assert.equal(server.requests.length, 7)
  })
})

test('a retry waits for the Retry-After of the server', async () => {
  let busy = true
  const handler: Handler = (_, response) => {
    if (busy) refuse(response, 429, 'Busy', { 'retry-after': '0.4' })
    else json(response, 200, pod)
    busy = false
  }
  await withServer(
    handler,
    async kube => {
      const startedAt = performance.now()
      await kube.get(pods, key)
      const elapsed = performance.now() - startedAt
      assert.ok(elapsed >= 395 && elapsed < 2_000, `${elapsed} ms`)
    },
    { maxRetryDelayMs: 10_000 },
  )
})

test('a write is never retried', async () => {
  await withServer(
    (_, response) => refuse(response, 503, 'Busy', { 'retry-after': '1' }),
    async (kube, server) => {
      await assert.rejects(kube.create(pods, pod), (error: KubeError) => error.retryAfter === 1 && isRetryable(error))
      assert.equal(server.requests.length, 1)
    },
  )
})

test('a read is retried after a lost connection', async () => {
  let broken = 1
  const handler: Handler = ({ socket }, response) => {
    if (broken-- > 0) socket.destroy()
    else json(response, 200, pod)
  }
  await withServer(handler, async kube => assert.deepEqual(await kube.get(pods, key), pod))
})

test('a server that does not respond is a retryable timeout', async () => {
  const options = { requestTimeoutMs: 100, attempts: 1 }
  await withServer(
    () => {},
    async kube => {
      await assert.rejects(kube.get(pods, key), (error: Error) => {
        assert.match(
          error.message,
          /^GET http:\/\/127\.0\.0\.1:\d+\/api\/v1\/namespaces\/n\/pods\/p: no response within 100 ms$/,
        )
        return isRetryable(error)
      })
    },
    options,
  )
})

test('a response that stalls in the middle is a timeout too', async () => {
  const handler: Handler = (_, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).write('{')
  const options = { requestTimeoutMs: 100, attempts: 1 }
  await withServer(handler, async kube => assert.rejects(kube.get(pods, key), isRetryable), options)
})

test('the error names an unreachable server', async () => {
  const server = await serve(() => {})
  await server.close()
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  await assert.rejects(kube.list(nodes), /^Error: GET http:\/\/127\.0\.0\.1:\d+\/api\/v1\/nodes: connect ECONNREFUSED/)
  await kube.close()
})

test('a caller can abort a request', async () => {
  await withServer(
    () => {},
    async kube => {
      const stop = new AbortController()
      const listing = kube.list(nodes, { signal: stop.signal })
      stop.abort(new Error('enough'))
      await assert.rejects(listing, /enough/)
    },
  )
})

test('a rotated token is read again once', async () => {
  const tokens = ['old', 'new', 'new']
  const handler: Handler = ({ headers }, response) => {
    if (headers.authorization === 'Bearer new') json(response, 200, pod)
    else refuse(response, 401, 'Unauthorized')
  }
  const access = { token: () => tokens.shift() ?? 'worn out' }
  await withServer(
    handler,
    async (kube, server) => {
      assert.deepEqual(await kube.get(pods, key), pod)
      assert.equal(server.requests.length, 2)
      await kube.get(pods, key)
      await assert.rejects(kube.get(pods, key), (error: KubeError) => error.status === 401)
      assert.equal(server.requests.length, 4)
    },
    { access },
  )
})

test('a redirect is an error, and the other host never gets the token', async () => {
  await withServer(
    (_asked, response) => json(response, 200, pod),
    async (_kube, elsewhere) =>
      withServer(
        (_asked, response) => json(response, 307, {}, { location: elsewhere.url }),
        async kube => {
          await assert.rejects(kube.get(pods, key), (error: KubeError) => error.status === 307)
          assert.equal(elsewhere.requests.length, 0)
        },
        { access: { token: () => 'secret-token' } },
      ),
  )
})

test('a missing object is undefined, an unknown kind is an error', async () => {
  const handler: Handler = ({ path }, response) => {
    if (path.includes('/pods/')) refuse(response, 404, 'NotFound')
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n')
  }
  await withServer(handler, async kube => {
    assert.equal(await kube.get(pods, key), undefined)
    await assert.rejects(kube.get(secrets, key), isNotFound)
    await kube.delete(pods, key)
  })
})

test('a replace without a resourceVersion is rejected before the request', async () => {
  await withServer(
    () => {},
    async (kube, server) => {
      await assert.rejects(kube.replace(pods, pod), (error: KubeError) => error.status === 409)
      assert.equal(server.requests.length, 0)
    },
  )
})

test('an error has the message of the server', async () => {
  await withServer(
    (_, response) => refuse(response, 410, 'Expired'),
    async kube => {
      await assert.rejects(kube.raw('GET', '/anything'), (error: unknown) => {
        assert.ok(error instanceof KubeError && isGone(error))
        assert.equal(error.reason, 'Expired')
        return true
      })
    },
  )
})
