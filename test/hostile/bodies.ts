/**
 * Hostile bodies by name. Each writes itself piece by piece, as an answer of a cloud and as a request to a server alike.
 *
 * `list` wraps the entries as the reader expects them, so that a body is hostile where the reader looks first.
 */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

export interface Expected {
  /** Text before and after the entries of the list, as in `{"ports":[` and `]}`. */
  head: string
  tail: string
  /** A valid entry. */
  entry: (index: number) => object
}

export type Body = (to: Writable, expected: Expected) => Promise<void> | void

const mebibyte = 1024 * 1024

/** Writes a text many times, as fast as the reader reads, until it closes. */
async function repeat(to: Writable, unit: string, bytes: number): Promise<void> {
  const chunk = Buffer.from(unit.repeat(Math.max(1, Math.floor(65_536 / unit.length))))
  const closed = new AbortController()
  to.once('close', () => closed.abort())
  for (let sent = 0; sent < bytes && !to.destroyed && !closed.signal.aborted; sent += chunk.length)
    if (!to.write(chunk)) await once(to, 'drain', { signal: closed.signal }).catch(() => {})
}

const whole =
  (text: (expected: Expected) => string | Buffer): Body =>
  (to, expected) =>
    void to.end(text(expected))

const filled =
  (unit: string | ((expected: Expected) => string), bytes: number): Body =>
  async (to, expected) => {
    const { head, tail, entry } = expected
    to.write(head)
    await repeat(to, `${typeof unit === 'string' ? unit : unit(expected)},`, bytes)
    to.end(`${JSON.stringify(entry(0))}${tail}`)
  }

const altered = (change: object) =>
  whole(({ head, tail, entry }) => `${head}${JSON.stringify({ ...entry(0), ...change })}${tail}`)

/** Every text of a valid entry is replaced. */
const withTexts = (text: string) =>
  whole(({ head, tail, entry }) => {
    const replaced = JSON.stringify(entry(0), (_key, value) => (typeof value === 'string' ? text : value))
    return `${head}${replaced}${tail}`
  })

export const bodies: Record<string, Body> = {
  'empty objects, 7 MiB': filled('{}', 7 * mebibyte),
  'empty objects, 60 MiB': filled('{}', 60 * mebibyte),
  'empty objects below the limit of elements': filled('{}', 130_000 * 3),
  'empty objects below the limit of a request': filled('{}', 80_000 * 3),
  'empty lists': filled('[]', 7 * mebibyte),
  'ten million nested lists': async to => {
    await repeat(to, '[', 10 * mebibyte)
    to.end()
  },
  'a million nested objects in an entry': async (to, { head }) => {
    to.write(head)
    await repeat(to, '{"id":', 6 * mebibyte)
    to.end()
  },
  'valid entries, 60 MiB': filled(({ entry }) => JSON.stringify(entry(0)), 60 * mebibyte),
  'valid entries, 12 MiB': filled(({ entry }) => JSON.stringify(entry(0)), 12 * mebibyte),
  'valid entries without an end': filled(({ entry }) => JSON.stringify(entry(0)), 2_000 * mebibyte),
  'spaces without an end': async to => {
    await repeat(to, ' ', 2_000 * mebibyte)
    to.end()
  },
  'one byte at a time': async (to, { head }) => {
    to.write(head)
    for (let sent = 0; sent < 30 && !to.destroyed; sent++) {
      to.write(' ')
      await sleep(200)
    }
    to.end()
  },
  'an answer that stops': (to, { head }) => void to.write(head),
  'half of an entry': whole(({ head, entry }) => `${head}${JSON.stringify(entry(0)).slice(0, 20)}`),
  'a text of 30 MiB': async (to, { head, tail }) => {
    to.write(`${head}{"id":"`)
    await repeat(to, 'x', 30 * mebibyte)
    to.end(`"}${tail}`)
  },
  'a text of escapes': async (to, { head, tail }) => {
    to.write(`${head}{"id":"`)
    await repeat(to, '\\u202e', 30 * mebibyte)
    to.end(`"}${tail}`)
  },
  '290,000 different keys': whole(
    ({ head, tail }) => `${head}{${Array.from({ length: 290_000 }, (_, n) => `"k${n}":0`).join()}}${tail}`,
  ),
  '145,000 objects of different shapes': whole(
    ({ head, tail }) => `${head}${Array.from({ length: 145_000 }, (_, n) => `{"k${n}":0}`).join()}${tail}`,
  ),
  '290,000 numbers': filled('1e400', 290_000 * 6),
  'entries of nulls': filled('null', 280_000 * 5),
  'a long list inside an entry': whole(({ head, tail, entry }) => {
    const lists = Object.fromEntries(Object.keys(entry(0)).map(key => [key, Array(20_000).fill({})]))
    return `${head}${JSON.stringify(lists)}${tail}`
  }),
  null: whole(() => 'null'),
  'a number': whole(() => '1e999'),
  'a text': whole(() => '"x"'),
  'a list': whole(() => '[]'),
  'an empty object': whole(() => '{}'),
  'no bytes': whole(() => ''),
  'a zip bomb': whole(() => gzipSync(Buffer.alloc(64 * mebibyte, 0x20))),
  'bytes that are not UTF-8': whole(({ head, tail }) =>
    Buffer.concat([Buffer.from(`${head}{"id":"`), Buffer.from([0xff, 0xfe, 0xc0, 0x80]), Buffer.from(`"}${tail}`)]),
  ),
  'UTF-16': whole(({ head, tail }) => Buffer.from(`\ufeff${head}${tail}`, 'utf16le')),
  'control characters in every text': withTexts('\u0000\u001b[31m\n\r\u0007'),
  'right-to-left marks in every text': withTexts('\u202egnp.exe\u2066'),
  'lone surrogates in every text': whole(({ head, tail }) => `${head}{"id":"\\ud800","nodeName":"\\udfff"}${tail}`),
  'path segments in every text': withTexts('../../../etc/passwd%00'),
  'keys of the prototype': altered({ ['__proto__']: { polluted: true }, constructor: { prototype: {} } }),
  'the same key a hundred thousand times': whole(
    ({ head, tail }) => `${head}{${Array.from({ length: 100_000 }, () => '"id":"x"').join()}}${tail}`,
  ),
  HTML: async to => {
    to.write('<!doctype html>')
    await repeat(to, '<p>504 Gateway Time-out</p>', 5 * mebibyte)
    to.end()
  },
  'Not a Number': whole(({ head, tail }) => `${head}NaN,-Infinity,undefined${tail}`),
}
