/** Limits of bodies, and the budget that all bodies share. */
import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { BodyError, maxBodiesBytes, maxDepth, parseJson, readBody } from './bounded-body.ts'

const limits = { bytes: 1_000, elements: 20 }
const read = (text: string, chunk = 7) => {
  const bytes = Buffer.from(text)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, n) =>
    bytes.subarray(n * chunk, (n + 1) * chunk),
  )
  return readBody(Readable.from(chunks), limits)
}
const refusal = (kind: BodyError['kind'], message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof BodyError)
  assert.equal(error.kind, kind)
  assert.match(error.message, message)
  return true
}

test('a body within the limits arrives as it was sent, in chunks of any size', async () => {
  const text = JSON.stringify({ a: ['\\"[[[{,', { b: 1 }], 'ü"': ',,,,,,,,,,,,,,,,,,,,,,,,,,,,,,' })
  for (const chunk of [1, 2, 3, 1_000]) assert.deepEqual(parseJson(await read(text, chunk)), JSON.parse(text))
})

test('a body is refused for its bytes, its elements or its depth', async () => {
  await assert.rejects(read(`"${'x'.repeat(999)}"`), refusal('tooLong', /longer than 1000 bytes/))
  await assert.rejects(read(`[${'{},'.repeat(20)}{}]`), refusal('tooComplex', /more than 20 elements/))
  const deep = readBody(Readable.from([Buffer.from('['.repeat(maxDepth + 1))]), { bytes: 1e6, elements: 1e6 })
  await assert.rejects(deep, refusal('tooComplex', /nested deeper than 100 levels/))
})

test('an endless body is refused while it is being sent', async () => {
  const stream = new PassThrough()
  stream.write(Buffer.alloc(1_001, 0x20))
  await assert.rejects(readBody(stream, limits), refusal('tooLong', /longer/))
})

test('a body that ends early is refused', async () => {
  const stream = new PassThrough()
  const reading = readBody(stream, limits)
  stream.write('{"a":')
  stream.destroy()
  await assert.rejects(reading, refusal('cut', /before it was complete/))
})

test('bytes that are not UTF-8 are not JSON', () => {
  assert.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), refusal('notJson', /invalid UTF-8/))
  assert.throws(() => parseJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), refusal('notJson', /invalid UTF-8/))
})

test('of too many large bodies the largest is dropped, and the others arrive', async () => {
  const large = { bytes: maxBodiesBytes, elements: 1_000 }
  const parts = [0.6, 0.3, 0.2].map(share => ({
    stream: new PassThrough({ highWaterMark: maxBodiesBytes }),
    bytes: Buffer.alloc(Math.floor(share * maxBodiesBytes), 0x20),
  }))
  const reads = parts.map(({ stream }) => readBody(stream, large))
  const largest = assert.rejects(reads[0] ?? assert.fail(), refusal('overBudget', /too many large bodies/))
  for (const { stream, bytes } of parts) stream.write(bytes)
  for (const { stream } of parts) stream.end()
  await largest
  assert.equal((await reads[1])?.length, parts[1]?.bytes.length)
  assert.equal((await reads[2])?.length, parts[2]?.bytes.length)
  // The budget is free again.
  assert.equal((await readBody(Readable.from([Buffer.alloc(maxBodiesBytes)]), large)).length, maxBodiesBytes)
})
