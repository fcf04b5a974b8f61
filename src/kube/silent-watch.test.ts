/**
 * Watches behind a proxy that keeps the connection and drops the data, and servers that deny a watch.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type FrozenProxy, startFrozenProxy } from '../../test/support/frozen-proxy.ts'
import { json, refuse, serve } from '../../test/support/http-stub.ts'
import { createLog } from '../telemetry/log.ts'
import { connectKube } from './client.ts'
import { createInformer, type Informer } from './informer.ts'
import { nodes } from './resources.ts'
import type { NodeObject } from './types.ts'

interface Context {
  proxy: FrozenProxy
  informer: Informer<NodeObject>
  /** resourceVersion of each watch. */
  from: string[]
  warnings: (about?: string) => string[]
  /** Of the next lists. */
  setVersion(version: number, items?: object[]): void
  send(type: string, version: number): void
  deny(status: number): void
  lists: () => number
}

async function withSilence(use: (context: Context) => Promise<void>): Promise<void> {
  const watches = new Set<ServerResponse>()
  const from: string[] = []
  let [denied, lists] = [0, 0]
  let listed = { metadata: { resourceVersion: '10' }, items: [] as object[] }
  const server = await serve((asked, response) => {
    const isWatch = asked.query.get('watch')
    if (!isWatch) lists++
    if (denied) return refuse(response, denied, 'Denied')
    if (!isWatch) return json(response, 200, listed)
    from.push(asked.query.get('resourceVersion') ?? '')
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(response)
    response.on('close', () => watches.delete(response))
  })
  const proxy = await startFrozenProxy(server.url)
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  const kube = connectKube({ server: proxy.url }, { attempts: 1, requestTimeoutMs: 1_000 })
  const stop = new AbortController()
  const times = { silenceMs: 1_500, staleMs: 4_000 }
  const informer = createInformer(kube, nodes, { log, backoff: { firstMs: 10, maxMs: 50 }, times })
  try {
    await informer.start(stop.signal)
    await eventually(() => assert.equal(watches.size, 1))
    await use({
      ...{ proxy, informer, from },
      warnings: (about = 'watch failed') => lines.filter(line => line.includes(about)),
      setVersion: (version, items = []) => {
        listed = { metadata: { resourceVersion: `${version}` }, items: items.map(metadata => ({ metadata })) }
      },
      lists: () => lists,
      send(type, version) {
        const object = { metadata: { name: 'a', uid: 'a', resourceVersion: `${version}` } }
        for (const watch of watches) watch.write(`${JSON.stringify({ type, object })}\n`)
      },
      deny(status) {
        denied = status
        for (const watch of watches) watch.end()
      },
    })
  } finally {
    stop.abort()
    await kube.close()
    await proxy.close()
    await server.close()
  }
}

test('controller M6: a watch that sent bookmarks and then says nothing is restarted, and the cache says so', async () => {
  await withSilence(async ({ proxy, informer, from, warnings, send, lists, setVersion }) => {
    send('BOOKMARK', 20)
    setVersion(20)
    assert.equal(informer.problem(), undefined)
    await eventually(() => assert.match(warnings().join(''), /nothing received for 1\.5 s/))
    proxy.freeze()
    await eventually(() =>
      assert.match(informer.problem() ?? '', /^no list or watch succeeded for \d.*: .*http.*no response/),
    )
    proxy.thaw()
    await eventually(() => assert.equal(informer.problem(), undefined))
    await eventually(() => assert.equal(from.at(-1), '20'))
    assert.ok(lists() > 1)
    await eventually(() => {
      send('ADDED', 21)
      assert.equal(informer.list().length, 1)
    })
    assert.equal(informer.restoredAt(), undefined)
  })
})

test('a collection whose watch never sent a bookmark is listed again quietly', async () => {
  await withSilence(async ({ informer, from, warnings, lists }) => {
    await eventually(() => assert.ok(from.length >= 3))
    assert.deepEqual([...new Set(from)], ['10'])
    assert.deepEqual([warnings(), lists(), informer.problem()], [[], from.length, undefined])
    assert.equal(informer.restoredAt(), undefined)
  })
})

test('a server that was restored from a backup is listed, and every object is reported', async () => {
  await withSilence(async ({ informer, send, setVersion, warnings }) => {
    send('ADDED', 11)
    await eventually(() => assert.equal(informer.list().length, 1))
    const reported: string[] = []
    informer.on(({ type, object, old }) => reported.push(`${type} ${object.metadata.name} ${object === old}`))
    setVersion(9, [{ name: 'b', uid: 'b', resourceVersion: '8' }])
    const before = Date.now()
    await eventually(() => assert.ok((informer.restoredAt() ?? 0) >= before))
    assert.deepEqual(reported, ['added a false', 'deleted a true', 'added b false', 'updated b true'])
    assert.match(warnings('restored from a backup').join(''), /"resourceVersion":"9".*"newest":"11"/)
    const restoredAt = informer.restoredAt()
    await eventually(() => {
      send('ADDED', 10)
      assert.equal(informer.list().length, 2)
    })
    assert.equal(informer.restoredAt(), restoredAt)
  })
})

for (const status of [403, 404])
  test(`controller M6: a cache that may not be read any more (${status}) says so at once`, async () => {
    await withSilence(async ({ informer, deny }) => {
      deny(status)
      await eventually(() => assert.match(informer.problem() ?? '', /^not readable: /))
      deny(0)
      await eventually(() => assert.equal(informer.problem(), undefined))
    })
  })
