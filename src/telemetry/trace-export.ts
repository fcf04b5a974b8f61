/**
 * Exports spans to an OpenTelemetry collector: OTLP over HTTP, as JSON, in batches.
 *
 * Export never blocks the component. Spans that the collector refuses or that overflow the queue are dropped and counted.
 */
import { request } from 'undici'
import { matching, type Settings, type Values } from '../contract/setting.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from './log.ts'
import { noTracer, type Span, spanKinds, type Tracer } from './trace.ts'

/** Names as defined by OpenTelemetry. */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    read: matching(isHttpUrl, 'must be an http or https address, such as http://collector:4318'),
    about: {
      en: 'Collector for traces (OTLP over HTTP). Without it, tracing is off.',
      ko: '트레이스를 받는 컬렉터입니다(HTTP의 OTLP). 설정하지 않으면 트레이스를 보내지 않습니다.',
    },
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    read: matching(
      value => headersIn(value) !== undefined,
      'must be comma-separated name=value pairs with URL-encoded values',
    ),
    about: {
      en: 'Headers for the collector, as comma-separated name=value pairs.',
      ko: '컬렉터로 보내는 헤더입니다. 쉼표로 구분한 name=value 쌍입니다.',
    },
  },
  OTEL_SERVICE_NAME: {
    read: matching(value => value.length <= 255, 'must have at most 255 characters'),
    unset: { en: 'multinic- and the component', ko: 'multinic-과 컴포넌트 이름' },
    about: { en: 'Service name in traces.', ko: '트레이스의 서비스 이름입니다.' },
  },
} satisfies Settings

export type TraceSettings = Partial<Values<typeof traceSettings>>

export interface TracerOptions {
  component: string
  log: Log
  count: (outcome: 'sent' | 'dropped', spans: number) => void
  /** How long a span waits for a batch. */
  batchMs?: number
}

const maxQueued = 2_048
const maxBatch = 512
const timeoutMs = 5_000
/** Limit of the last export before the process exits. */
const shutdownMs = 500

export function openTracer(settings: TraceSettings, options: TracerOptions): Tracer {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = settings
  if (endpoint === undefined) return noTracer
  const { component, log, count, batchMs = 500 } = options
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`
  const headers = { ...headersIn(settings.OTEL_EXPORTER_OTLP_HEADERS ?? ''), 'content-type': 'application/json' }
  const service = settings.OTEL_SERVICE_NAME ?? `multinic-${component}`
  let queue: Span[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let refused = false

  function record(span: Span): void {
    if (queue.length >= maxQueued) {
      count('dropped', 1)
      return
    }
    queue.push(span)
    timer ??= setTimeout(flush, batchMs).unref()
  }

  function flush(): void {
    timer = undefined
    sending ??= sendAll(timeoutMs).finally(() => {
      sending = undefined
    })
  }

  async function sendAll(withinMs: number): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch)
      queue = queue.slice(maxBatch)
      const failure = await send(batch, withinMs)
      count(failure === undefined ? 'sent' : 'dropped', batch.length)
      if (failure !== undefined && !refused) log.warn('cannot export traces, dropping them', { error: failure })
      refused = failure !== undefined
    }
  }

  async function send(batch: readonly Span[], withinMs: number): Promise<string | undefined> {
    try {
      const body = JSON.stringify(otlpOf(batch, service))
      const answer = await request(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(withinMs) })
      await answer.body.dump()
      return answer.statusCode < 300 ? undefined : `HTTP ${answer.statusCode}`
    } catch (error) {
      return messageOf(error)
    }
  }

  return {
    on: true,
    record,
    async close() {
      clearTimeout(timer)
      const last = Promise.resolve(sending).then(() => sendAll(shutdownMs))
      await Promise.race([last, new Promise(resolve => setTimeout(resolve, shutdownMs).unref())])
    },
  }
}

/** An OTLP request in JSON: IDs in hex, times as decimal nanoseconds. */
export function otlpOf(spans: readonly Span[], service: string): object {
  const byService = Map.groupBy(spans, span => span.service ?? service)
  return {
    resourceSpans: [...byService].map(([name, some]) => ({
      resource: { attributes: attributesOf({ 'service.name': name, 'service.namespace': 'multinic' }) },
      scopeSpans: [{ scope: { name: 'multinic' }, spans: some.map(spanOf) }],
    })),
  }
}

function spanOf({ traceId, spanId, parentSpanId, name, kind, start, end, attributes = {}, error }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: spanKinds[kind],
    startTimeUnixNano: nanosOf(start),
    // The clocks of two machines may differ by more than the duration.
    endTimeUnixNano: nanosOf(Math.max(start, end)),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: 2, message: error },
  }
}

function nanosOf(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000)) * 1_000n}`
}

function attributesOf(attributes: NonNullable<Span['attributes']>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: typed(value) }))
}

function typed(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function headersIn(text: string): Record<string, string> | undefined {
  const entries = text.split(',').filter(entry => entry.trim() !== '')
  try {
    const pairs = entries.map(entry => {
      const [name = '', value] = entry.split(/=(.*)/s)
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name.trim()) || value === undefined) throw new Error('no header')
      const decoded = decodeURIComponent(value.trim())
      if (/[^\t\x20-\x7e\x80-\xff]/.test(decoded)) throw new Error('no header')
      return [name.trim().toLowerCase(), decoded]
    })
    return Object.fromEntries(pairs)
  } catch {
    return undefined
  }
}
