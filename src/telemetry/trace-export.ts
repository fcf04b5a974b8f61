/**
 * Tells spans to an OpenTelemetry collector: OTLP over HTTP, as JSON, in batches.
 *
 * Work never waits for it: what a collector does not take, or what is more than the queue holds, is dropped and counted.
 */
import { request } from 'undici'
import { z } from 'zod'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from './log.ts'
import { noTracer, type Span, spanKinds, type Tracer } from './trace.ts'

/** The names that OpenTelemetry gives them. */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine(isHttpUrl, 'must be an http or https address, such as http://collector:4318')
    .optional()
    .meta({ description: 'Collector that gets the traces, by OTLP over HTTP; none means no tracing.' }),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .refine(text => headersIn(text) !== undefined, 'must be name=value, with commas between and values URL-encoded')
    .optional()
    .meta({ description: 'Headers for the collector, as name=value with commas between.' }),
  OTEL_SERVICE_NAME: z
    .string()
    .max(255)
    .optional()
    .meta({ description: 'Name of this part in traces; else multinic- and the part.' }),
}

export type TraceSettings = z.infer<z.ZodObject<typeof traceSettings>>

export interface TracerOptions {
  part: string
  log: Log
  count: (outcome: 'sent' | 'dropped', spans: number) => void
  /** How long spans wait for others to come with them. */
  gatherMs?: number
}

const mostQueued = 2_048
const mostAtOnce = 512
const answerMs = 5_000
/** At the end of the process the last spans may take so long. */
const lastMs = 500

export function openTracer(settings: TraceSettings, options: TracerOptions): Tracer {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = settings
  if (endpoint === undefined) return noTracer
  const { part, log, count, gatherMs = 500 } = options
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`
  const headers = { ...headersIn(settings.OTEL_EXPORTER_OTLP_HEADERS ?? ''), 'content-type': 'application/json' }
  const service = settings.OTEL_SERVICE_NAME ?? `multinic-${part}`
  let queue: Span[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let refused = false

  function tell(span: Span): void {
    if (queue.length >= mostQueued) {
      count('dropped', 1)
      return
    }
    queue.push(span)
    timer ??= setTimeout(flush, gatherMs).unref()
  }

  function flush(): void {
    timer = undefined
    sending ??= sendAll(answerMs).finally(() => {
      sending = undefined
    })
  }

  async function sendAll(withinMs: number): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, mostAtOnce)
      queue = queue.slice(mostAtOnce)
      const trouble = await send(batch, withinMs)
      count(trouble === undefined ? 'sent' : 'dropped', batch.length)
      if (trouble !== undefined && !refused)
        log.warn('the collector does not take traces; they are dropped', { trouble })
      refused = trouble !== undefined
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
    tell,
    async close() {
      clearTimeout(timer)
      const last = Promise.resolve(sending).then(() => sendAll(lastMs))
      await Promise.race([last, new Promise(resolve => setTimeout(resolve, lastMs).unref())])
    },
  }
}

/** The request of the OTLP specification, in its JSON form: ids in hex, times as texts of nanoseconds. */
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
    // Clocks of two machines may disagree by more than the work took.
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
