import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type Asked, json, refuse, serve } from '../../test/support/http-stub.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { connectKube } from './client.ts'
import { createInformer, type Informer, type InformerOptions } from './informer.ts'
import { nodes } from './resources.ts'
import type { NodeObject } from './types.ts'

type Item = { name: string; version: number; uid?: string; zone?: string }

const objectOf = ({ name, version, uid = `uid-${name}`, zone }: Item) => ({
  metadata: { name, uid, resourceVersion: `${version}`, ...(zone && { labels: { zone } }) },
})

/** An API server in the hands of the test: it holds a list and open watches. */
async function aServer() {
  const world = {
    items: [] as Item[],
    version: 10,
    lists: 0,
    from: [] as string[],
    refuseWatches: [] as number[],
    refuseList: 0,
  }
  const watches = new Set<{ asked: Asked; response: ServerResponse }>()
  const server = await serve((asked, response) => {
    if (!asked.query.get('watch')) {
      world.lists++
      if (world.refuseList) refuse(response, world.refuseList, 'Refused')
      else json(response, 200, { metadata: { resourceVersion: `${world.version}` }, items: world.items.map(objectOf) })
      return
    }
    world.from.push(asked.query.get('resourceVersion') ?? '')
    const refusal = world.refuseWatches.shift()
    if (refusal) {
      refuse(response, refusal, 'Refused')
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add({ asked, response })
    response.on('close', () => watches.clear())
  })
  const each = (call: (watch: { asked: Asked; response: ServerResponse }) => void) => {
    for (const watch of watches) call(watch)
  }
  const send = (event: object) => each(({ response }) => response.write(`${JSON.stringify(event)}\n`))
  return {
    ...server,
    world,
    watched: () => eventually(() => assert.equal(watches.size, 1)),
    say: (type: string, item: Item) => send({ type, object: objectOf(item) }),
    fail: (code: number) => send({ type: 'ERROR', object: { kind: 'Status', code, reason: 'Expired' } }),
    reset: () => each(({ asked }) => asked.socket.resetAndDestroy()),
    end: () => each(({ response }) => response.end()),
  }
}

type Server = Awaited<ReturnType<typeof aServer>>

async function withInformer(
  items: Item[],
  use: (given: {
    server: Server
    informer: Informer<NodeObject>
    heard: string[]
    start(): Promise<void>
  }) => Promise<void>,
  options: Partial<InformerOptions<NodeObject>> = {},
): Promise<void> {
  const server = await aServer()
  server.world.items = items
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const over = new AbortController()
  const backoff = { firstMs: 10, maxMs: 50 }
  const informer = createInformer(kube, nodes, { log: silent, backoff, ...options })
  const heard: string[] = []
  informer.on(({ type, object, old }) => {
    const from = old ? `${old.metadata.resourceVersion} > ` : ''
    heard.push(`${type} ${object.metadata.name} ${from}${object.metadata.resourceVersion}`)
  })
  try {
    await use({ server, informer, heard, start: () => informer.start(over.signal) })
  } finally {
    over.abort()
    await kube.close()
    await server.close()
  }
}

test('a started informer has the list, then follows', async () => {
  await withInformer([{ name: 'a', version: 3 }], async ({ server, informer, heard, start }) => {
    assert.equal(informer.synced, false)
    await start()
    assert.equal(informer.synced, true)
    assert.deepEqual(heard, ['added a 3'])
    assert.equal(informer.get('a')?.kind, 'Node')
    assert.equal(informer.get({ name: 'a' }), informer.get('a'))
    await server.watched()
    server.say('ADDED', { name: 'b', version: 11 })
    server.say('MODIFIED', { name: 'a', version: 12 })
    server.say('DELETED', { name: 'b', version: 13 })
    await eventually(() =>
      assert.deepEqual(heard, ['added a 3', 'added b 11', 'updated a 3 > 12', 'deleted b 11 > 13']),
    )
    assert.deepEqual(
      informer.list().map(({ metadata }) => metadata.resourceVersion),
      ['12'],
    )
    assert.ok(informer.lastEventAt)
    assert.deepEqual(server.world.from, ['10'])
  })
})

test('only what is wanted of an object is kept, from lists and from events', async () => {
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
      server.say('MODIFIED', { name: 'a', version: 12, zone: 'z' })
      await eventually(() =>
        assert.deepEqual(informer.get('a')?.metadata, { name: 'a', uid: 'uid-a', resourceVersion: '12' }),
      )
    },
    { keep },
  )
})

test('after a reset it goes on from the last event, without another list', async () => {
  await withInformer([], async ({ server, heard, start }) => {
    await start()
    await server.watched()
    server.say('ADDED', { name: 'a', version: 11 })
    await eventually(() => assert.equal(heard.length, 1))
    server.reset()
    await eventually(() => assert.deepEqual(server.world.from, ['10', '11']))
    assert.equal(server.world.lists, 1)
    await server.watched()
    server.say('MODIFIED', { name: 'a', version: 12 })
    await eventually(() => assert.deepEqual(heard, ['added a 11', 'updated a 11 > 12']))
  })
})

test('a bookmark moves the place from which it goes on', async () => {
  await withInformer([], async ({ server, heard, start }) => {
    await start()
    await server.watched()
    server.say('BOOKMARK', { name: '', version: 99 })
    server.end()
    await eventually(() => assert.deepEqual(server.world.from, ['10', '99']))
    assert.deepEqual(heard, [])
  })
})

for (const how of ['in the stream', 'as an answer'] as const) {
  test(`a place that is too old (${how}) means another list, and what went meanwhile is told`, async () => {
    const before = [
      { name: 'stays', version: 1 },
      { name: 'goes', version: 2 },
      { name: 'changes', version: 3 },
      { name: 'made again', version: 4, uid: 'first' },
    ]
    await withInformer(before, async ({ server, heard, start }) => {
      await start()
      await server.watched()
      heard.length = 0
      server.world.items = [
        { name: 'stays', version: 1 },
        { name: 'changes', version: 20 },
        { name: 'made again', version: 21, uid: 'second' },
        { name: 'comes', version: 22 },
      ]
      server.world.version = 30
      if (how === 'in the stream') server.fail(410)
      else {
        server.world.refuseWatches = [410]
        server.end()
        await eventually(() => assert.ok(server.world.lists > 1))
      }
      await eventually(() =>
        assert.deepEqual(heard, [
          'deleted goes 2 > 2',
          'updated changes 3 > 20',
          'deleted made again 4 > 4',
          'added made again 21',
          'added comes 22',
        ]),
      )
      await eventually(() => assert.equal(server.world.from.at(-1), '30'))
    })
  })
}

test('a list that fails at first is tried again until it works', async () => {
  await withInformer([{ name: 'a', version: 1 }], async ({ server, informer, start }) => {
    server.world.refuseList = 403
    const starting = start()
    await eventually(() => assert.ok(server.world.lists > 1))
    assert.equal(informer.synced, false)
    server.world.refuseList = 0
    await starting
    assert.equal(informer.list().length, 1)
  })
})

test('a server that refuses watches is not listed in a tight loop', async () => {
  const backoff = { firstMs: 30, maxMs: 1_000 }
  await withInformer(
    [],
    async ({ server, start }) => {
      server.world.refuseWatches = Array<number>(100).fill(403)
      await start()
      // Pauses of at least 15, 30, 60, 120 and 240 ms lie before the sixth list.
      const began = performance.now()
      await eventually(() => assert.ok(server.world.lists >= 6))
      assert.ok(performance.now() - began > 400, `${performance.now() - began}`)
    },
    { backoff },
  )
})

test('after a long outage a server that has forgotten our place is listed at once', async () => {
  const backoff = { firstMs: 20, maxMs: 60_000 }
  await withInformer(
    [],
    async ({ server, start }) => {
      await start()
      await server.watched()
      server.world.refuseWatches = [503, 503, 503, 503, 503, 503, 503, 410]
      server.reset()
      await eventually(() => assert.deepEqual(server.world.refuseWatches, []))
      // By the backoff of the outage this pause would be more than 1.2 s.
      await eventually(() => assert.equal(server.world.lists, 2), { within: 1_000 })
    },
    { backoff },
  )
})

test('a listener that throws is logged and harms nobody', async () => {
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  await withInformer(
    [{ name: 'a', version: 1 }],
    async ({ server, informer, heard, start }) => {
      informer.on(() => {
        throw new Error('a mistake of a room')
      })
      await start()
      await server.watched()
      server.say('ADDED', { name: 'b', version: 11 })
      await eventually(() => assert.equal(heard.length, 2))
      assert.equal(lines.filter(line => line.includes('a mistake of a room')).length, 2)
    },
    { log },
  )
})

test('a late listener hears what is there, and one that left hears nothing', async () => {
  await withInformer([{ name: 'a', version: 1 }], async ({ server, informer, heard, start }) => {
    await start()
    const late: string[] = []
    const leave = informer.on(({ type, object }) => late.push(`${type} ${object.metadata.name}`))
    assert.deepEqual(late, ['added a'])
    leave()
    await server.watched()
    server.say('ADDED', { name: 'b', version: 11 })
    await eventually(() => assert.equal(heard.length, 2))
    assert.deepEqual(late, ['added a'])
  })
})

test('objects are found by an index that follows them', async () => {
  const index = { zone: (node: NodeObject) => (node.metadata.labels?.['zone'] ? [node.metadata.labels['zone']] : []) }
  await withInformer(
    [{ name: 'a', version: 1, zone: 'east' }],
    async ({ server, informer, heard, start }) => {
      await start()
      const names = (zone: string) => informer.by('zone', zone).map(({ metadata }) => metadata.name)
      assert.deepEqual(names('east'), ['a'])
      await server.watched()
      server.say('ADDED', { name: 'b', version: 11, zone: 'west' })
      server.say('MODIFIED', { name: 'a', version: 12, zone: 'west' })
      await eventually(() => assert.equal(heard.length, 3))
      assert.deepEqual([names('east'), names('west')], [[], ['b', 'a']])
      server.say('DELETED', { name: 'b', version: 13, zone: 'west' })
      await eventually(() => assert.deepEqual(names('west'), ['a']))
      assert.throws(() => informer.by('colour', 'red'), /no index named colour/)
    },
    { index },
  )
})

test('a resync tells everything again', async () => {
  await withInformer(
    [{ name: 'a', version: 1 }],
    async ({ heard, start }) => {
      await start()
      await eventually(() => assert.deepEqual(heard.slice(0, 3), ['added a 1', 'updated a 1 > 1', 'updated a 1 > 1']))
    },
    { resync: 20 },
  )
})

test('an informer that is ended before its first list says so', async () => {
  const server = await aServer()
  server.world.refuseList = 500
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const over = new AbortController()
  const starting = createInformer(kube, nodes, { log: silent }).start(over.signal)
  over.abort(new Error('enough'))
  await assert.rejects(starting, /enough/)
  await kube.close()
  await server.close()
})
