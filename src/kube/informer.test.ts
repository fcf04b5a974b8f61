import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { json, type RecordedRequest, refuse, serve } from '../../test/support/http-stub.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { connectKube } from './client.ts'
import { createInformer, type Informer, type InformerOptions } from './informer.ts'
import { nodes } from './resources.ts'
import type { NodeObject } from './types.ts'

type Item = { name: string; version: number; uid?: string; zone?: string }

const objectOf = ({ name, version, uid = `uid-${name}`, zone }: Item) => ({
  metadata: { name, uid, resourceVersion: `${version}`, ...(zone && { labels: { zone } }) },
})

/** An API server that the test controls: it has a list and open watches. */
async function aServer() {
  const state = {
    items: [] as Item[],
    version: 10,
    lists: 0,
    from: [] as string[],
    rejectWatches: [] as number[],
    rejectList: 0,
  }
  const watches = new Set<{ asked: RecordedRequest; response: ServerResponse }>()
  const server = await serve((asked, response) => {
    if (!asked.query.get('watch')) {
      state.lists++
      if (state.rejectList) refuse(response, state.rejectList, 'Refused')
      else json(response, 200, { metadata: { resourceVersion: `${state.version}` }, items: state.items.map(objectOf) })
      return
    }
    state.from.push(asked.query.get('resourceVersion') ?? '')
    const status = state.rejectWatches.shift()
    if (status) {
      refuse(response, status, 'Refused')
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add({ asked, response })
    response.on('close', () => watches.clear())
  })
  const each = (call: (watch: { asked: RecordedRequest; response: ServerResponse }) => void) => {
    for (const watch of watches) call(watch)
  }
  const sendEvent = (event: object) => each(({ response }) => response.write(`${JSON.stringify(event)}\n`))
  return {
    ...server,
    state,
    watched: () => eventually(() => assert.equal(watches.size, 1)),
    send: (type: string, item: Item) => sendEvent({ type, object: objectOf(item) }),
    fail: (code: number) => sendEvent({ type: 'ERROR', object: { kind: 'Status', code, reason: 'Expired' } }),
    reset: () => each(({ asked }) => asked.socket.resetAndDestroy()),
    end: () => each(({ response }) => response.end()),
  }
}

type Server = Awaited<ReturnType<typeof aServer>>

async function withInformer(
  items: Item[],
  use: (context: {
    server: Server
    informer: Informer<NodeObject>
    changes: string[]
    start(): Promise<void>
  }) => Promise<void>,
  options: Partial<InformerOptions<NodeObject>> = {},
): Promise<void> {
  const server = await aServer()
  server.state.items = items
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const stop = new AbortController()
  const backoff = { firstMs: 10, maxMs: 50 }
  const informer = createInformer(kube, nodes, { log: silent, backoff, ...options })
  const changes: string[] = []
  informer.on(({ type, object, old }) => {
    const from = old ? `${old.metadata.resourceVersion} > ` : ''
    changes.push(`${type} ${object.metadata.name} ${from}${object.metadata.resourceVersion}`)
  })
  try {
    await use({ server, informer, changes, start: () => informer.start(stop.signal) })
  } finally {
    stop.abort()
    await kube.close()
    await server.close()
  }
}

test('an informer has the list at its start, then applies events', async () => {
  await withInformer([{ name: 'a', version: 3 }], async ({ server, informer, changes, start }) => {
    assert.equal(informer.synced, false)
    await start()
    assert.equal(informer.synced, true)
    assert.deepEqual(changes, ['added a 3'])
    assert.equal(informer.get('a')?.kind, 'Node')
    assert.equal(informer.get({ name: 'a' }), informer.get('a'))
    await server.watched()
    server.send('ADDED', { name: 'b', version: 11 })
    server.send('MODIFIED', { name: 'a', version: 12 })
    server.send('DELETED', { name: 'b', version: 13 })
    await eventually(() =>
      assert.deepEqual(changes, ['added a 3', 'added b 11', 'updated a 3 > 12', 'deleted b 11 > 13']),
    )
    assert.deepEqual(
      informer.list().map(({ metadata }) => metadata.resourceVersion),
      ['12'],
    )
    assert.equal(informer.problem(), undefined)
    assert.deepEqual(server.state.from, ['10'])
  })
})

test('objects of lists and events are trimmed', async () => {
  const keep = ({ apiVersion, kind, metadata: { labels: _, ...metadata } }: NodeObject) => ({
    apiVersion,
    kind,
    metadata,
  })
  await withInformer(
    [{ name: 'a', version: 3, zone: 'z' }],
    async ({ server, informer, start }) => {
      await start()
      assert.deepEqual(informer.get('a')?.metadata, { name: 'a', uid: 'uid-a', resourceVersion: '3' })
      await server.watched()
      server.send('MODIFIED', { name: 'a', version: 12, zone: 'z' })
      await eventually(() =>
        assert.deepEqual(informer.get('a')?.metadata, { name: 'a', uid: 'uid-a', resourceVersion: '12' }),
      )
    },
    { keep },
  )
})

test('after a connection reset the watch resumes from the last event without a list', async () => {
  await withInformer([], async ({ server, changes, start }) => {
    await start()
    await server.watched()
    server.send('ADDED', { name: 'a', version: 11 })
    await eventually(() => assert.equal(changes.length, 1))
    server.reset()
    await eventually(() => assert.deepEqual(server.state.from, ['10', '11']))
    assert.equal(server.state.lists, 1)
    await server.watched()
    server.send('MODIFIED', { name: 'a', version: 12 })
    await eventually(() => assert.deepEqual(changes, ['added a 11', 'updated a 11 > 12']))
  })
})

test('a watch resumes from the last bookmark', async () => {
  await withInformer([], async ({ server, changes, start }) => {
    await start()
    await server.watched()
    server.send('BOOKMARK', { name: '', version: 99 })
    server.end()
    await eventually(() => assert.deepEqual(server.state.from, ['10', '99']))
    assert.deepEqual(changes, [])
  })
})

for (const how of ['in the stream', 'as an answer'] as const) {
  test(`an expired resourceVersion (${how}) leads to a new list that reports deletions`, async () => {
    const before = [
      { name: 'stays', version: 1 },
      { name: 'goes', version: 2 },
      { name: 'changes', version: 3 },
      { name: 'recreated', version: 4, uid: 'first' },
    ]
    await withInformer(before, async ({ server, changes, start }) => {
      await start()
      await server.watched()
      changes.length = 0
      server.state.items = [
        { name: 'stays', version: 1 },
        { name: 'changes', version: 20 },
        { name: 'recreated', version: 21, uid: 'second' },
        { name: 'comes', version: 22 },
      ]
      server.state.version = 30
      if (how === 'in the stream') server.fail(410)
      else {
        server.state.rejectWatches = [410]
        server.end()
        await eventually(() => assert.ok(server.state.lists > 1))
      }
      await eventually(() =>
        assert.deepEqual(changes, [
          'deleted goes 2 > 2',
          'updated changes 3 > 20',
          'deleted recreated 4 > 4',
          'added recreated 21',
          'added comes 22',
        ]),
      )
      await eventually(() => assert.equal(server.state.from.at(-1), '30'))
    })
  })
}

test('a failed list is retried until it succeeds', async () => {
  await withInformer([{ name: 'a', version: 1 }], async ({ server, informer, start }) => {
    server.state.rejectList = 403
    const starting = start()
    await eventually(() => assert.ok(server.state.lists > 1))
    assert.equal(informer.synced, false)
    server.state.rejectList = 0
    await starting
    assert.equal(informer.list().length, 1)
  })
})

test('a server that rejects watches is not listed in a tight loop', async () => {
  const backoff = { firstMs: 30, maxMs: 1_000 }
  await withInformer(
    [],
    async ({ server, start }) => {
      server.state.rejectWatches = Array<number>(100).fill(403)
      await start()
      // Delays of at least 15, 30, 60, 120 and 240 ms precede the sixth list.
      const began = performance.now()
      await eventually(() => assert.ok(server.state.lists >= 6))
      assert.ok(performance.now() - began > 400, `${performance.now() - began}`)
    },
    { backoff },
  )
})

test('after a long outage an expired resourceVersion leads to a list without delay', async () => {
  const backoff = { firstMs: 20, maxMs: 60_000 }
  await withInformer(
    [],
    async ({ server, start }) => {
      await start()
      await server.watched()
      server.state.rejectWatches = [503, 503, 503, 503, 503, 503, 503, 410]
      server.reset()
      await eventually(() => assert.deepEqual(server.state.rejectWatches, []))
      // With the backoff of the outage this delay would exceed 1.2 s.
      await eventually(() => assert.equal(server.state.lists, 2), { within: 1_000 })
    },
    { backoff },
  )
})

test('a listener that throws is logged and does not affect others', async () => {
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  await withInformer(
    [{ name: 'a', version: 1 }],
    async ({ server, informer, changes, start }) => {
      informer.on(() => {
        throw new Error('a mistake of a room')
      })
      await start()
      await server.watched()
      server.send('ADDED', { name: 'b', version: 11 })
      await eventually(() => assert.equal(changes.length, 2))
      assert.equal(lines.filter(line => line.includes('a mistake of a room')).length, 2)
    },
    { log },
  )
})

test('a late listener gets existing objects, and an unsubscribed one gets nothing', async () => {
  await withInformer([{ name: 'a', version: 1 }], async ({ server, informer, changes, start }) => {
    await start()
    const late: string[] = []
    const leave = informer.on(({ type, object }) => late.push(`${type} ${object.metadata.name}`))
    assert.deepEqual(late, ['added a'])
    leave()
    await server.watched()
    server.send('ADDED', { name: 'b', version: 11 })
    await eventually(() => assert.equal(changes.length, 2))
    assert.deepEqual(late, ['added a'])
  })
})

test('an index follows changes of its objects', async () => {
  const index = { zone: (node: NodeObject) => (node.metadata.labels?.['zone'] ? [node.metadata.labels['zone']] : []) }
  await withInformer(
    [{ name: 'a', version: 1, zone: 'east' }],
    async ({ server, informer, changes, start }) => {
      await start()
      const names = (zone: string) => informer.by('zone', zone).map(({ metadata }) => metadata.name)
      assert.deepEqual(names('east'), ['a'])
      await server.watched()
      server.send('ADDED', { name: 'b', version: 11, zone: 'west' })
      server.send('MODIFIED', { name: 'a', version: 12, zone: 'west' })
      await eventually(() => assert.equal(changes.length, 3))
      assert.deepEqual([names('east'), names('west')], [[], ['b', 'a']])
      server.send('DELETED', { name: 'b', version: 13, zone: 'west' })
      await eventually(() => assert.deepEqual(names('west'), ['a']))
      assert.throws(() => informer.by('colour', 'red'), /unknown index colour/)
    },
    { index },
  )
})

test('a resync reports all objects again', async () => {
  await withInformer(
    [{ name: 'a', version: 1 }],
    async ({ changes, start }) => {
      await start()
      await eventually(() => assert.deepEqual(changes.slice(0, 3), ['added a 1', 'updated a 1 > 1', 'updated a 1 > 1']))
    },
    { resync: 20 },
  )
})

test('an informer rejects if it is aborted before its first list', async () => {
  const server = await aServer()
  server.state.rejectList = 500
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const stop = new AbortController()
  const starting = createInformer(kube, nodes, { log: silent }).start(stop.signal)
  stop.abort(new Error('enough'))
  await assert.rejects(starting, /enough/)
  await kube.close()
  await server.close()
})
