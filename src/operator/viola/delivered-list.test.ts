/** One list for all objects of a Viola and provider: read once, and kept current by the stream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aListedViola, follow, minute, statesOf } from '../../../test/operator/listed-viola.ts'
import { type StreamingViola, sendEvent, startStreamingViola } from '../../../test/operator/viola-stream.ts'
import { eventually } from '../../../test/support/eventually.ts'

test('a status comes from the stream, without a call, and concerns the objects with interfaces on the node', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  const { nodes: before } = await viola.client.list(undefined, { maxAgeMs: minute })
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  await eventually(() => assert.deepEqual(watch.concerned, [['ns/a', 'ns/b']]))
  assert.deepEqual(await statesOf(viola), ['worker-1 1 Configured', 'worker-2 1 Pending'])
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  assert.equal(nodes[0]?.interfaces, before[0]?.interfaces)
  assert.equal(nodes[1], before[1])
  assert.equal(viola.lists(), 1)
})

test('a status of a config that is known is read without its interfaces', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  const { nodes: before } = await viola.client.list(undefined, { maxAgeMs: minute })
  const status = { observedGeneration: 1, state: 'Configured' }
  for (const stream of viola.streams)
    sendEvent(stream, 'updated', { nodeName: 'worker-1', specHash: 'worker-1 1', generation: 1, interfaces: 9, status })
  await eventually(() => assert.deepEqual(watch.concerned, [['ns/a', 'ns/b']]))
  const { nodes } = await viola.client.list(undefined, { maxAgeMs: minute })
  assert.equal(nodes[0]?.interfaces, before[0]?.interfaces)
  assert.equal(nodes[0]?.status?.state, 'Configured')
})

test('a list that is read again keeps the objects of equal interfaces, and shows others also with a known hash', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  const { nodes: before } = await viola.client.list(undefined, { maxAgeMs: minute })
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  await eventually(() => assert.equal(watch.concerned.length, 1))
  viola.nodes.set('worker-2', { nodeName: 'worker-2', generation: 1, sources: ['ns/c'], state: 'Pending' })
  const { nodes } = await viola.client.list()
  assert.deepEqual([viola.lists(), nodes[0]?.status?.state], [2, 'Configured'])
  assert.equal(nodes[0]?.interfaces, before[0]?.interfaces)
  assert.deepEqual([nodes[1]?.specHash, nodes[1]?.interfaces[0]?.source], [before[1]?.specHash, 'ns/c'])
})

test('a status does not hide who edited the node config by hand: only the list names them', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  viola.change({ nodeName: 'worker-1', generation: 2, editedBy: 'kubectl-edit' })
  await eventually(() => assert.equal(watch.concerned.length, 1))
  const read = async () => (await viola.client.list(undefined, { maxAgeMs: minute })).nodes[0]
  assert.equal((await read())?.editedBy, 'kubectl-edit')
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  await eventually(() => assert.equal(watch.concerned.length, 2))
  const { editedBy, status } = (await read()) ?? {}
  assert.deepEqual([editedBy, status?.state, viola.lists()], ['kubectl-edit', 'Configured', 2])
})

test('a status that is already known concerns nobody', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  viola.change({ nodeName: 'worker-1' })
  await eventually(() => assert.deepEqual(watch.concerned, [[]]))
})

for (const [name, act, concerned, states, lists] of [
  [
    'changed',
    (viola: StreamingViola) => viola.change({ nodeName: 'worker-2', generation: 2, sources: ['ns/c'] }),
    ['ns/b', 'ns/c'],
    ['worker-1 1 Pending', 'worker-2 2 Pending'],
    2,
  ],
  [
    'added',
    (viola: StreamingViola) => viola.change({ nodeName: 'worker-3', sources: ['ns/a'] }),
    ['ns/a'],
    ['worker-1 1 Pending', 'worker-2 1 Pending', 'worker-3 1 Pending'],
    2,
  ],
  ['deleted', (viola: StreamingViola) => viola.remove('worker-1'), ['ns/a', 'ns/b'], ['worker-2 1 Pending'], 1],
] as const)
  test(`a node config that somebody ${name} is ${lists > 1 ? 'read from Viola once' : 'no longer listed'}`, async () => {
    await using given = await aListedViola()
    const { viola, watch } = given
    act(viola)
    await eventually(() => assert.deepEqual(watch.concerned, [concerned]))
    for (let n = 0; n < 3; n++) assert.deepEqual(await statesOf(viola), states)
    assert.equal(viola.lists(), lists)
  })

test('a reader that accepts only a list of the stream reads without one', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  const streamed = { maxAgeMs: 0, maxStreamedMs: minute }
  await viola.client.list(undefined, streamed)
  assert.equal(viola.lists(), 1)
  watch.stop()
  await eventually(() => assert.equal(viola.streams.length, 0))
  for (const lists of [2, 3]) {
    await viola.client.list(undefined, streamed)
    assert.equal(viola.lists(), lists)
  }
})

for (const [name, act, expected] of [
  [
    'changed',
    (viola: StreamingViola) => viola.change({ nodeName: 'worker-1', state: 'Configured' }),
    ['worker-1 1 Configured', 'worker-2 1 Pending'],
  ],
  ['deleted', (viola: StreamingViola) => viola.remove('worker-1'), ['worker-2 1 Pending']],
] as const)
  test(`a node that is ${name} while an older list is read is not lost`, async () => {
    await using given = await aListedViola()
    const { viola, watch } = given
    const answer = Promise.withResolvers<void>()
    viola.beforeAnswer = () => answer.promise
    const reading = statesOf(viola, 0)
    await eventually(() => assert.equal(viola.lists(), 2))
    act(viola)
    await eventually(() => assert.equal(watch.concerned.length, 1))
    answer.resolve()
    assert.deepEqual(await reading, expected)
  })

test('a Viola that streams without an end makes the list outdated, and fills no memory', async () => {
  await using given = await aListedViola({ maxTakenLength: 20_000 })
  const { viola, watch } = given
  const send = async (count: number) => {
    const before = watch.concerned.length
    for (let n = 0; n < count; n++) viola.change({ nodeName: 'worker-1', state: n % 2 ? 'Failed' : 'InProgress' })
    await eventually(() => assert.equal(watch.concerned.length, before + count))
    await statesOf(viola)
    return viola.lists()
  }
  assert.equal(await send(10), 1)
  assert.equal(await send(100), 2)
  assert.equal(await send(10), 2)
})

test('a list that is read first and ends last does not replace a newer one', async () => {
  await using viola = await startStreamingViola()
  viola.change({ nodeName: 'worker-1' })
  const answer = Promise.withResolvers<void>()
  viola.beforeAnswer = () => answer.promise
  const reading = statesOf(viola, 0)
  await eventually(() => assert.equal(viola.lists(), 1))
  viola.beforeAnswer = async () => {}
  viola.change({ nodeName: 'worker-1', state: 'Configured' })
  assert.deepEqual(await statesOf(viola, 0), ['worker-1 1 Configured'])
  answer.resolve()
  await reading
  assert.deepEqual(await statesOf(viola), ['worker-1 1 Configured'])
})

test('without a stream, all objects together read the list once in the time that they allow', async () => {
  let time = 0
  await using viola = await startStreamingViola({ now: () => time })
  for (; time < 5 * minute; time += 1_000) await Promise.all([statesOf(viola), statesOf(viola)])
  assert.ok(viola.lists() <= 6, `${viola.lists()} lists in five minutes`)
  await statesOf(viola, 0)
  assert.ok(viola.lists() >= 6)
})

test('a stream that ends is no proof any more: the next reader asks Viola', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  viola.streams[0]?.end()
  await watch.ended
  await statesOf(viola)
  assert.equal(viola.lists(), 2)
  await statesOf(viola)
  assert.equal(viola.lists(), 2)
})

test('a new stream concerns all objects if the list has another version, and nobody otherwise', async () => {
  await using given = await aListedViola()
  const { viola, watch } = given
  watch.stop()
  await eventually(() => assert.equal(viola.streams.length, 0))
  await statesOf(viola)
  const second = follow(viola)
  await eventually(() => assert.deepEqual(second.concerned, [[]]))
  second.stop()
  await eventually(() => assert.equal(viola.streams.length, 0))
  await statesOf(viola)
  viola.remove('worker-2')
  const third = follow(viola)
  await eventually(() => assert.deepEqual(third.concerned, ['all']))
  assert.deepEqual(await statesOf(viola), ['worker-1 1 Pending'])
})

for (const [name, write, error] of [
  [
    'a stream that begins with nodes',
    (viola: StreamingViola) => {
      viola.onStream = response => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        sendEvent(response, 'added', { nodeName: 'worker-1' })
      }
    },
    /does not begin with the version/,
  ],
  [
    'no stream',
    (viola: StreamingViola) => {
      viola.onStream = response => response.writeHead(405).end()
    },
    /HTTP 405/,
  ],
  [
    'an event that is no node config',
    (viola: StreamingViola) => {
      viola.onStream = response => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        sendEvent(response, 'synced', null)
        sendEvent(response, 'updated', [])
      }
    },
    /unexpected format/,
  ],
  [
    'an event without an end',
    (viola: StreamingViola) => {
      viola.onStream = response => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: ${'x'.repeat(200_000)}`)
      }
    },
    /longer than 65536 bytes/,
  ],
] as const)
  test(`a Viola with ${name}: the stream fails, and the list is still read`, async () => {
    await using viola = await startStreamingViola()
    viola.change({ nodeName: 'worker-1' })
    write(viola)
    await assert.rejects(follow(viola).ended, error)
    assert.deepEqual(await statesOf(viola), ['worker-1 1 Pending'])
  })
