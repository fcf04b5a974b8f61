/**
 * Traces a port through all components: the trace ID in their log lines, and the spans of the trace.
 *
 * The sync creates the ID and passes it on as W3C `traceparent`. Spans are exported only if a collector is configured
 * (`trace-export.ts`). Free of dependencies.
 */
import { randomBytes } from 'node:crypto'

/** A position in a trace: the parent of the spans below it. */
export interface TraceContext {
  /** 32 hex digits. */
  traceId: string
  /** 16 hex digits. */
  spanId: string
}

/** Numbers of OpenTelemetry. */
export const spanKinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const
export type SpanKind = keyof typeof spanKinds

export interface Span extends TraceContext {
  parentSpanId?: string | undefined
  name: string
  kind: SpanKind
  /** Milliseconds since 1970, with fractions. */
  start: number
  end: number
  attributes?: Record<string, string | number | boolean>
  /** Why it failed. */
  error?: string | undefined
  /** The service of the span, if it is not the exporting component. */
  service?: string
}

export interface Tracer {
  /** True if a collector is configured. */
  readonly on: boolean
  /** Queues a span for export. Never blocks, never fails. */
  record(span: Span): void
  close(): Promise<void>
}

export const noTracer: Tracer = { on: false, record: () => {}, close: async () => {} }

export function newTrace(): TraceContext {
  const hex = randomBytes(24).toString('hex')
  return { traceId: hex.slice(0, 32), spanId: hex.slice(32) }
}

export function childOf({ traceId }: TraceContext): TraceContext {
  return { traceId, spanId: randomBytes(8).toString('hex') }
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/

/** Undefined for an invalid traceparent: it comes from outside, and tracing must never cause an error. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string') return undefined
  const [, traceId, spanId] = form.exec(text) ?? []
  return traceId !== undefined && spanId !== undefined ? { traceId, spanId } : undefined
}

/** The last digit says whether the spans are exported. */
export function traceparentOf({ traceId, spanId }: TraceContext, exported: boolean): string {
  return `00-${traceId}-${spanId}-${exported ? '01' : '00'}`
}
