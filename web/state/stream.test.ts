import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEvent, streamEvents } from './stream.ts'

test('events are read across chunk boundaries, without keep-alive comments', async () => {
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
  assert.equal(parseEvent(': alive'), undefined)
})
