/** What many listeners cost: the entries are read and serialized once, and listeners that are behind take turns. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openToEveryone } from '../../test/support/access.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openStore } from './store.ts'

/** An inventory whose reads of the history, and whose serialized entries, are counted. */
async function aServer() {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-feed-'))
  const store = await openStore({ path: join(dir, 'inventory.db'), log: silent })
  const counts = { queries: 0, serialized: 0, running: 0, maxRunning: 0 }
  const history: typeof store.history = async filter => {
    // A new listener asks for the newest entry, without a position.
    const reads = Number(filter?.after !== undefined)
    counts.queries += reads
    counts.running += reads
    counts.maxRunning = Math.max(counts.maxRunning, counts.running)
    const entries = await store.history(filter)
    counts.running -= reads
    for (const entry of entries) {
      const toJSON = () => {
        counts.serialized++
        return { ...entry }
      }
      Object.defineProperty(entry, 'toJSON', { value: toJSON, enumerable: false })
    }
    return entries
  }
  const app = createInventoryApp({ store: { ...store, history }, access: await openToEveryone(), log: silent })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const requests: ClientRequest[] = []
  return {
    store,
    counts,
    reset: () => Object.assign(counts, { queries: 0, serialized: 0, maxRunning: 0 }),
    /** Twenty of each address, from 127.0.0.2 on. */
    listen: (count: number, query = '', firstAddress = 2) =>
      Promise.all(
        Array.from(
          { length: count },
          (_, position) =>
            new Promise<IncomingMessage>((resolve, reject) => {
              const localAddress = `127.0.0.${firstAddress + Math.floor(position / 20)}`
              const request = get(`${url}/v1/inventory/events${query}`, { localAddress, agent: false }, resolve)
              requests.push(request.on('error', reject))
            }),
        ),
      ),
    async [Symbol.asyncDispose]() {
      for (const request of requests) request.on('error', () => {}).destroy()
      await app.close()
      await store.close()
      await rm(dir, { recursive: true })
    },
  }
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

function textOf(listener: IncomingMessage): () => string {
  let text = ''
  listener.on('data', piece => {
    text += piece
  })
  return () => text
}

test('sixty listeners cost as many queries and serializations as one', async () => {
  await using server = await aServer()
  const listeners = await server.listen(60)
  assert.deepEqual(new Set(listeners.map(({ statusCode }) => statusCode)), new Set([200]))
  const [own] = await server.listen(1, '?providerId=p2', 9)
  const texts = [...listeners.slice(0, 3), own as IncomingMessage].map(textOf)
  server.reset()
  for (let index = 0; index < 10; index++)
    await server.store.put([aWrite(`n${index}`), aWrite(`n${index}`, { providerId: 'p2' })])
  await eventually(() => {
    for (const text of texts.slice(0, 3)) assert.equal(idsIn(text()).length, 20)
    assert.equal(idsIn(texts[3]?.() ?? '').length, 10)
  })
  for (const text of texts)
    assert.deepEqual(
      idsIn(text()),
      idsIn(text()).toSorted((a, b) => a - b),
    )
  assert.equal(server.counts.serialized, 20)
  // One for each write, and one for each that arrived while the feed was reading.
  assert.ok(server.counts.queries <= 20, `${server.counts.queries} queries`)
})

test('listeners that are behind read their pages one after the other, and miss nothing', async () => {
  await using server = await aServer()
  const nodes = Array.from({ length: 90 }, (_, index) => aWrite(`n${index}`))
  await server.store.put(nodes)
  server.reset()
  const texts = (await server.listen(40, '?after=0')).map(textOf)
  await server.store.put(nodes.map(node => ({ ...node, removed: true })))
  const caughtUp = () => {
    for (const text of texts) assert.equal(idsIn(text()).length, 180)
  }
  // Nine tenths of the time are rests, which are longer on a busy machine.
  await eventually(caughtUp, { within: 120_000 })
  for (const text of texts) assert.equal(new Set(idsIn(text())).size, 180)
  // One page of a listener that is behind, and one for all others.
  assert.ok(server.counts.maxRunning <= 2, `${server.counts.maxRunning} reads at once`)
  await server.store.put([aWrite('last')])
  await eventually(() => {
    for (const text of texts) assert.equal(idsIn(text()).length, 181)
  })
})

test('the twenty-first stream of one caller gets a 429', async () => {
  await using server = await aServer()
  const listeners = await server.listen(20)
  assert.deepEqual(new Set(listeners.map(({ statusCode }) => statusCode)), new Set([200]))
  const [refused] = await server.listen(1)
  assert.equal(refused?.statusCode, 429)
  assert.equal(refused?.headers['retry-after'], '30')
})
