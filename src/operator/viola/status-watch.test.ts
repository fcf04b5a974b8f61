/** Objects are woken by changes of their nodes: one at once, many together, over lost streams, and with one stream for all. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type StreamingViola, startStreamingViola } from '../../../test/operator/viola-stream.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { silent } from '../../telemetry/log.ts'
import { createStatusWatch, type StatusWatch } from './status-watch.ts'

const backoff = { firstMs: 1, maxMs: 1 }
let watch: StatusWatch
let viola: StreamingViola

afterEach(async () => {
  watch.close()
  await viola[Symbol.asyncDispose]()
})

/** Two nodes, listed once, and two objects that follow them: `ns/a` on the first node, `ns/b` on both. */
async function aFollowedViola() {
  viola = await startStreamingViola()
  viola.change({ nodeName: 'worker-1', sources: ['ns/a', 'ns/b'] })
  viola.change({ nodeName: 'worker-2', sources: ['ns/b'] })
  await viola.client.list(undefined, { maxAgeMs: 60_000 })
  const clock = manualClock()
  const woken: string[] = []
  watch = createStatusWatch({ wake: key => woken.push(key), log: silent, backoff, clock })
  for (const key of ['ns/a', 'ns/b']) watch.follow(key, viola.client)
  await streamIsOpen(1)
  return { clock, woken }
}

async function streamIsOpen(requests: number): Promise<void> {
  await eventually(() => assert.deepEqual([viola.streams.length, viola.requests()], [1, requests]))
}

test('each object is woken after it follows, then by the changes of its own nodes', async () => {
  const { clock, woken } = await aFollowedViola()
  clock.advance(10)
  assert.deepEqual(woken.splice(0), ['ns/a', 'ns/b'])
  viola.change({ nodeName: 'worker-2', state: 'Configured' })
  await eventually(() => {
    clock.advance(10)
    assert.deepEqual(woken, ['ns/b'])
  })
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  await eventually(() => {
    clock.advance(10)
    assert.deepEqual(woken, ['ns/b', 'ns/a', 'ns/b'])
  })
  assert.equal(viola.requests(), 1)
})

test('a thousand changes within a second wake an object a few times, and the last one is not lost', async () => {
  const { clock, woken } = await aFollowedViola()
  clock.advance(10)
  woken.length = 0
  for (let n = 1; n <= 1_000; n++) {
    viola.change({ nodeName: 'worker-1', state: n % 2 ? 'InProgress' : 'Failed' })
    if (n % 50 === 0) await new Promise(resolve => setImmediate(resolve))
    clock.advance(1)
  }
  const state = async () => (await viola.client.list(undefined, { maxAgeMs: 60_000 })).nodes[0]?.status?.state
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  await eventually(async () => assert.equal(await state(), 'Configured'))
  clock.advance(60_000)
  const wakes = woken.filter(key => key === 'ns/a').length
  assert.ok(wakes >= 1 && wakes <= 14, `${wakes} wakes`)
})

test('a stream that is cut is opened again, and wakes all objects if something changed in between', async () => {
  const { clock, woken } = await aFollowedViola()
  clock.advance(10)
  woken.length = 0
  viola.streams[0]?.destroy()
  await streamIsOpen(2)
  clock.advance(10)
  assert.deepEqual(woken, [])
  const { onStream } = viola
  viola.onStream = response => {
    viola.change({ nodeName: 'worker-2', state: 'Configured' })
    onStream(response)
  }
  viola.streams[0]?.destroy()
  await eventually(() => {
    clock.advance(10)
    assert.deepEqual(woken, ['ns/a', 'ns/b'])
  })
})

test('the stream closes with its last object', async () => {
  const { clock, woken } = await aFollowedViola()
  watch.forget('ns/a')
  clock.advance(10)
  assert.deepEqual(woken, ['ns/b'])
  await streamIsOpen(1)
  watch.forget('ns/b')
  await eventually(() => assert.equal(viola.streams.length, 0))
})

test('a replica that no longer leads has no stream, and follows again when it leads', async () => {
  await aFollowedViola()
  watch.close()
  await eventually(() => assert.equal(viola.streams.length, 0))
  watch.follow('ns/a', viola.client)
  await streamIsOpen(2)
})

for (const [name, isCut] of [
  ['without a stream', false],
  ['behind a proxy that ends each stream', true],
] as const)
  test(`a Viola ${name} is asked for it less and less often`, async () => {
    viola = await startStreamingViola()
    const { onStream } = viola
    viola.onStream = response => {
      if (isCut) onStream(response)
      else response.writeHead(405)
      response.end()
    }
    watch = createStatusWatch({ wake: () => {}, log: silent, backoff: { firstMs: 20, maxMs: 60_000 } })
    watch.follow('ns/a', viola.client)
    await eventually(() => assert.ok(viola.requests() >= 3))
    await sleep(1_000)
    assert.ok(viola.requests() <= 9, `${viola.requests()} requests`)
  })
