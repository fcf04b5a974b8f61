import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkTo, linkToNode, routeFrom } from './route.ts'
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
