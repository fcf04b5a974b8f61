import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsIn, type ServerEvent } from './event-stream.ts'

/** The events of these chunks, and how often reading waited. Each chunk arrives after `everyMs`. */
async function eventsOf(chunks: Iterable<string>, everyMs = 0): Promise<{ events: ServerEvent[]; pauses: number }> {
  let time = 0
  let pauses = 0
  async function* stream() {
    for (const chunk of chunks) {
      time += everyMs
      yield Buffer.from(chunk)
    }
  }
  const pause = async (ms: number) => {
    pauses++
    time += ms
  }
  const events: ServerEvent[] = []
  for await (const event of eventsIn(stream(), { now: () => time, pause })) events.push(event)
  return { events, pauses }
}

test('an event has a type and data, in any pieces; comments and other fields are skipped', async () => {
  const text = ': alive\n\nid: 1\nevent: updated\ndata: {"name":"é"}\n\ndata: 2\n\n'
  const expected = [
    { type: 'updated', data: { name: 'é' }, length: 13 },
    { type: '', data: 2, length: 2 },
  ]
  assert.deepEqual((await eventsOf([text])).events, expected)
  assert.deepEqual((await eventsOf(text)).events, expected)
})

test('an event that is too long ends the stream', async () => {
  await assert.rejects(
    eventsOf(['data: ', ...Array.from({ length: 70 }, () => 'x'.repeat(1_000))]),
    /longer than 65536/,
  )
})

test('a server that sends without an end is read at a limited rate', async () => {
  const chunks = Array.from({ length: 96 }, () => `: ${'x'.repeat(64 * 1024 - 3)}\n`)
  assert.equal((await eventsOf(chunks)).pauses, 3)
  assert.equal((await eventsOf(chunks, 100)).pauses, 0)
})
