import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkTo, linkToNode, routeFrom, stayingThen } from './route.ts'
import { eventFrom, streamEvents } from './stream.ts'

test('a link leads to where it says', () => {
  assert.deepEqual(routeFrom(linkTo('matrix', { provider: 'a b', look: '', q: '10.1' })), {
    screen: 'matrix',
    query: { provider: 'a b', q: '10.1' },
  })
  assert.deepEqual(routeFrom(linkToNode({ providerId: 'p/1', nodeName: 'worker-1' }, 'multinic0')), {
    screen: 'nodes',
    query: { nic: 'multinic0' },
    providerId: 'p/1',
    nodeName: 'worker-1',
  })
})

test('an address that leads nowhere is the overview', () => {
  for (const hash of ['', '#', '#/', '#/nowhere', '#/%zz']) assert.equal(routeFrom(hash).screen, 'overview', hash)
})

test('events are read across the borders of chunks, signs of life left out', async () => {
  const text = ': alive\n\nid: 7\nevent: config\ndata: {"a":"한"}\n\n: alive\n\nid: 8\nevent: status\ndata: {}\n\n'
  const bytes = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 5) controller.enqueue(bytes.slice(at, at + 5))
      controller.close()
    },
  })
  const events = []
  for await (const event of streamEvents(body)) events.push(event)
  assert.deepEqual(events, [
    { id: '7', event: 'config', data: '{"a":"한"}' },
    { id: '8', event: 'status', data: '{}' },
  ])
  assert.equal(eventFrom(': alive'), undefined)
})

test('a node is found by its name alone', () => {
  assert.deepEqual(routeFrom('#/nodes/worker-1'), { screen: 'nodes', query: {}, nodeName: 'worker-1' })
})

test('who looks at another time stays there from link to link, until it is now again', () => {
  const then = routeFrom('#/matrix?asof=2026-11-03T18:05:00.000Z')
  assert.equal(then.asof, '2026-11-03T18:05:00.000Z')
  const staying = stayingThen(then, '#/nodes/p/worker-1?nic=multinic0')
  assert.equal(routeFrom(staying ?? '').asof, then.asof)
  assert.equal(routeFrom(staying ?? '').query['nic'], 'multinic0')
  assert.equal(stayingThen(then, '#/matrix?asof=now'), undefined)
  assert.equal(routeFrom('#/matrix?asof=now').asof, undefined)
  assert.equal(stayingThen(then, '#/history'), undefined)
  assert.equal(stayingThen(routeFrom('#/matrix'), '#/nodes'), undefined)
})
