/**
 * A stand-in for an OpenTelemetry collector: takes OTLP over HTTP as JSON, and holds it to the specification.
 */
import assert from 'node:assert/strict'
import { type Asked, serve } from './http-stub.ts'

export interface TakenSpan {
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
  spans: TakenSpan[]
  /** All that came in, as it came. */
  asked: Asked[]
  close(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const spans: TakenSpan[] = []
  const stub = await serve(({ method, path, headers, body }, response) => {
    assert.equal(`${method} ${path}`, 'POST /v1/traces')
    assert.equal(headers['content-type'], 'application/json')
    spans.push(...readOtlp(body))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return { ...stub, spans }
}

/** Throws where a body is not what the specification of OTLP/JSON asks for. */
export function readOtlp(body: unknown): TakenSpan[] {
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

const spanKeys = ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'attributes', 'status']

function readSpan(value: unknown, service: string): TakenSpan {
  const span = exactly(value, spanKeys, ['parentSpanId'])
  const text = (key: string, form: RegExp) => {
    assert.match(String(span[key]), form, key)
    assert.equal(typeof span[key], 'string', key)
    return String(span[key])
  }
  const { code, message } = exactly(span['status'], [], ['code', 'message'])
  assert.ok(code === undefined || (code === 2 && typeof message === 'string'), 'status')
  assert.ok([1, 2, 3, 4, 5].includes(Number(span['kind'])) && typeof span['kind'] === 'number', 'kind')
  const taken: TakenSpan = {
    service,
    traceId: text('traceId', /^[0-9a-f]{32}$/),
    spanId: text('spanId', /^[0-9a-f]{16}$/),
    ...(span['parentSpanId'] !== undefined && { parentSpanId: text('parentSpanId', /^[0-9a-f]{16}$/) }),
    name: text('name', /^[a-z][a-z.-]*$/),
    kind: Number(span['kind']),
    start: BigInt(text('startTimeUnixNano', /^[1-9][0-9]{18}$/)),
    end: BigInt(text('endTimeUnixNano', /^[1-9][0-9]{18}$/)),
    attributes: attributesIn(span['attributes']),
    failed: code === 2,
  }
  assert.ok(taken.end >= taken.start, `${taken.name} ends before it starts`)
  return taken
}

function attributesIn(value: unknown): TakenSpan['attributes'] {
  return Object.fromEntries(
    list(value).map(entry => {
      const { key, value: typed } = exactly(entry, ['key', 'value'])
      assert.equal(typeof key, 'string')
      const [[type = '', given] = []] = Object.entries(typed as object)
      if (type === 'intValue') assert.match(String(given), /^-?[0-9]+$/)
      assert.equal(typeof given, types[type], `${key}: ${type}`)
      return [String(key), type === 'intValue' ? Number(given) : given]
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
  assert.ok(Array.isArray(value), 'no list')
  return value
}

function exactly(value: unknown, keys: readonly string[], more: readonly string[] = []): Record<string, unknown> {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `no object with ${keys}`)
  const record = value as Record<string, unknown>
  const given = Object.keys(record).filter(key => !more.includes(key))
  assert.deepEqual(given.sort(), [...keys].sort())
  return record
}
