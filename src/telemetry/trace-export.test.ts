import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { serve } from '../../test/support/http-stub.ts'
import { readOtlp, startCollector } from '../../test/support/otlp-collector.ts'
import { settingsFrom } from '../contract/setting.ts'
import { createLog, silent } from './log.ts'
import { childOf, newTrace, noTracer, parseTraceparent, type Span, traceparentOf } from './trace.ts'
import { openTracer, otlpOf, traceSettings } from './trace-export.ts'

const read = (env: Record<string, string>) => settingsFrom(traceSettings, env)
const sent = { sent: 0, dropped: 0 }
const counting = () => ({ ...sent })
const aSpan = (more: Partial<Span> = {}): Span => ({
  ...newTrace(),
  name: 'sync',
  kind: 'internal',
  start: 1_700_000_000_000.25,
  end: 1_700_000_000_007,
  ...more,
})

test('spans reach the collector in OTLP form', async () => {
  const collector = await startCollector()
  const counts = counting()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=a%20b,other=c=d' }
  const tracer = openTracer(read(env), {
    component: 'viola',
    log: silent,
    batchMs: 1,
    count: (how, n) => (counts[how] += n),
  })
  const root = aSpan({ attributes: { text: 'a', whole: 3, part: 0.5, yes: true } })
  const child = { ...aSpan(), ...childOf(root), parentSpanId: root.spanId, service: 'multinic-agent', error: 'why' }
  tracer.record(root)
  tracer.record(child)
  await eventually(() => assert.equal(counts.sent, 2))
  const [first, second] = collector.spans
  assert.deepEqual(first, {
    service: 'multinic-viola',
    traceId: root.traceId,
    spanId: root.spanId,
    name: 'sync',
    kind: 1,
    start: 1_700_000_000_000_250_000n,
    end: 1_700_000_000_007_000_000n,
    attributes: { text: 'a', whole: 3, part: 0.5, yes: true },
    failed: false,
  })
  assert.deepEqual(
    [second?.service, second?.parentSpanId, second?.traceId, second?.failed],
    ['multinic-agent', root.spanId, root.traceId, true],
  )
  const { headers } = collector.requests[0] ?? assert.fail('nothing came')
  assert.deepEqual([headers['x-key'], headers['other']], ['a b', 'c=d'])
  await tracer.close()
  await collector.close()
})

test('refused spans are dropped, counted and logged once, without the headers', async () => {
  const stub = await serve((_asked, response) => void response.writeHead(503).end())
  const counts = counting()
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: stub.url, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=top-secret' }
  const tracer = openTracer(read(env), { component: 'viola', log, batchMs: 1, count: (how, n) => (counts[how] += n) })
  for (const round of [1, 2, 3]) {
    tracer.record(aSpan())
    await eventually(() => assert.equal(counts.dropped, round))
  }
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /HTTP 503/)
  assert.doesNotMatch(lines.join(), /top-secret/)
  await tracer.close()
  await stub.close()
})

test('a hanging collector blocks nothing: the queue and the shutdown are bounded', async () => {
  const stub = await serve(() => new Promise(() => {}))
  const counts = counting()
  const count = (how: 'sent' | 'dropped', n: number) => (counts[how] += n)
  const tracer = openTracer(read({ OTEL_EXPORTER_OTLP_ENDPOINT: stub.url }), {
    component: 'x',
    log: silent,
    batchMs: 1,
    count,
  })
  tracer.record(aSpan())
  await eventually(() => assert.equal(stub.requests.length, 1))
  for (let n = 0; n < 3_000; n++) tracer.record(aSpan())
  assert.equal(counts.dropped, 3_000 - 2_048)
  await tracer.close()
  await stub.close()
})

test('without an endpoint there is no tracer', () => {
  assert.equal(openTracer(read({}), { component: 'x', log: silent, count: () => assert.fail('counted') }), noTracer)
  assert.equal(noTracer.on, false)
})

const mistakes: Record<string, Record<string, string>> = {
  'OTEL_EXPORTER_OTLP_ENDPOINT: must be an http': { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
  'OTEL_EXPORTER_OTLP_HEADERS: must be comma-separated name=value': { OTEL_EXPORTER_OTLP_HEADERS: 'only-a-name' },
  'OTEL_EXPORTER_OTLP_HEADERS: must be': { OTEL_EXPORTER_OTLP_HEADERS: 'a=top%0d%0asecret' },
  'OTEL_EXPORTER_OTLP_HEADERS: must': { OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' },
}
for (const [message, env] of Object.entries(mistakes))
  test(`an invalid setting is reported by name: ${JSON.stringify(env)}`, () => {
    assert.throws(
      () => read(env),
      (error: Error) => error.message.includes(message) && !error.message.includes('secret'),
    )
  })

test('a span whose end is before its start ends at its start', () => {
  const [span] = readOtlp(otlpOf([aSpan({ start: 1_700_000_000_500, end: 1_700_000_000_000 })], 'x'))
  assert.equal(span?.start, span?.end)
})

test('a traceparent is parsed, and an invalid one is ignored', () => {
  const place = newTrace()
  assert.deepEqual(parseTraceparent(traceparentOf(place, true)), place)
  assert.deepEqual(parseTraceparent(traceparentOf(place, false)), place)
  assert.equal(childOf(place).traceId, place.traceId)
  assert.notEqual(childOf(place).spanId, place.spanId)
  const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  assert.deepEqual(parseTraceparent(`00-${trace}-${span}-01`), { traceId: trace, spanId: span })
  const zero = '0'.repeat(32)
  const none = [
    undefined,
    ['00'],
    '',
    `ff-${trace}-${span}-01`,
    `00-${zero}-${span}-01`,
    `00-${trace}-${zero.slice(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `00-${trace}-${span}-01\n`,
  ]
  for (const text of none) assert.equal(parseTraceparent(text), undefined, String(text))
})
