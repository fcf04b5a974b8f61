/**
 * A stub of an OpenTelemetry collector: receives OTLP/JSON over HTTP and checks it against the specification.
 */
import assert from 'node:assert/strict'
import { type RecordedRequest, serve } from './http-stub.ts'

export interface ReceivedSpan {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  /** Nanoseconds. */
  start: bigint
  end: bigint
  attributes: Record<string, string | number | boolean>
  failed: boolean
}

export interface Collector {
  url: string
  spans: ReceivedSpan[]
  /** The raw requests. */
  requests: RecordedRequest[]
  close(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const stub = await serve(({ method, path, headers, body }, response) => {
    assert.equal(`${method} ${path}`, 'POST /v1/traces')
    assert.equal(headers['content-type'], 'application/json')
    spans.push(...readOtlp(body))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return { ...stub, spans }
}

/** Throws if a body violates the specification of OTLP/JSON. */
export function readOtlp(body: unknown): ReceivedSpan[] {
  const { resourceSpans } = exactly(body, ['resourceSpans'])
  return list(resourceSpans).flatMap(entry => {
    const { resource, scopeSpans } = exactly(entry, ['resource', 'scopeSpans'])
    const { 'service.name': service } = attributesIn(exactly(resource, ['attributes'])['attributes'])
    assert.equal(typeof service, 'string', 'a resource without service.name')
    return list(scopeSpans).flatMap(scoped => {
      const { scope, spans } = exactly(scoped, ['scope', 'spans'])
      assert.equal(typeof exactly(scope, ['name'])['name'], 'string')
      return list(spans).map(span => readSpan(span, String(service)))
    })
  })
}

const spanKeys = ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'status']

function readSpan(value: unknown, service: string): ReceivedSpan {
  const span = exactly(value, spanKeys, ['parentSpanId', 'attributes'])
  const text = (key: string, form: RegExp) => {
    assert.match(String(span[key]), form, key)
    assert.equal(typeof span[key], 'string', key)
    return String(span[key])
  }
  const { code, message } = exactly(span['status'], [], ['code', 'message'])
  assert.ok(code === undefined || (code === 2 && typeof message === 'string'), 'status')
  assert.ok([1, 2, 3, 4, 5].includes(Number(span['kind'])) && typeof span['kind'] === 'number', 'kind')
  const received: ReceivedSpan = {
    service,
    traceId: text('traceId', /^[0-9a-f]{32}$/),
    spanId: text('spanId', /^[0-9a-f]{16}$/),
    ...(span['parentSpanId'] !== undefined && { parentSpanId: text('parentSpanId', /^[0-9a-f]{16}$/) }),
    name: text('name', /^[a-z][a-z.-]*$/),
    kind: Number(span['kind']),
    start: BigInt(text('startTimeUnixNano', /^[1-9][0-9]{18}$/)),
    end: BigInt(text('endTimeUnixNano', /^[1-9][0-9]{18}$/)),
    attributes: attributesIn(span['attributes'] ?? []),
    failed: code === 2,
  }
  assert.ok(received.end >= received.start, `${received.name} ends before it starts`)
  return received
}

function attributesIn(value: unknown): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    list(value).map(entry => {
      const { key, value: typed } = exactly(entry, ['key', 'value'])
      assert.equal(typeof key, 'string')
      const [[type = '', content] = []] = Object.entries(typed as object)
      if (type === 'intValue') assert.match(String(content), /^-?[0-9]+$/)
      assert.equal(typeof content, types[type], `${key}: ${type}`)
      return [String(key), type === 'intValue' ? Number(content) : content]
    }),
  )
}

const types: Record<string, string> = {
  stringValue: 'string',
  intValue: 'string',
  boolValue: 'boolean',
  doubleValue: 'number',
}

function list(value: unknown): unknown[] {
  assert.ok(Array.isArray(value), 'not a list')
  return value
}

function exactly(value: unknown, keys: readonly string[], more: readonly string[] = []): Record<string, unknown> {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `not an object with ${keys}`)
  const record = value as Record<string, unknown>
  const present = Object.keys(record).filter(key => !more.includes(key))
  assert.deepEqual(present.sort(), [...keys].sort())
  return record
}
