/**
 * Following one port through all parts: the id that its log lines share, and the spans of one trace.
 *
 * The id is made with the sync and travels as a W3C `traceparent`. Spans are told only where a collector is set
 * (`trace-export.ts`); without one nothing is kept and nothing is sent. Free of dependencies.
 */
import { randomBytes } from 'node:crypto'

/** A place in a trace: what is done below it has it for a parent. */
export interface TracePlace {
  /** 32 hex digits. */
  traceId: string
  /** 16 hex digits. */
  spanId: string
}

/** As OpenTelemetry numbers them. */
export const spanKinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const
export type SpanKind = keyof typeof spanKinds

export interface Span extends TracePlace {
  parentSpanId?: string | undefined
  name: string
  kind: SpanKind
  /** Milliseconds since 1970, also in fractions. */
  start: number
  end: number
  attributes?: Record<string, string | number | boolean>
  /** Why it failed. */
  error?: string | undefined
  /** Who did it, where that is not the part that tells of it. */
  service?: string
}

export interface Tracer {
  /** Whether anybody wants to know. */
  readonly on: boolean
  /** Takes a span to be told later. Never waits, never fails. */
  tell(span: Span): void
  close(): Promise<void>
}

export const noTracer: Tracer = { on: false, tell: () => {}, close: async () => {} }

export function newTrace(): TracePlace {
  const hex = randomBytes(24).toString('hex')
  return { traceId: hex.slice(0, 32), spanId: hex.slice(32) }
}

export function below({ traceId }: TracePlace): TracePlace {
  return { traceId, spanId: randomBytes(8).toString('hex') }
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/

/** Undefined for whatever is no traceparent: it comes from outside, and a trace is never worth an error. */
export function parseTraceparent(text: unknown): TracePlace | undefined {
  if (typeof text !== 'string') return undefined
  const [, traceId, spanId] = form.exec(text) ?? []
  return traceId !== undefined && spanId !== undefined ? { traceId, spanId } : undefined
}

/** The last digit says whether the spans so far are told anywhere. */
export function traceparentOf({ traceId, spanId }: TracePlace, told: boolean): string {
  return `00-${traceId}-${spanId}-${told ? '01' : '00'}`
}
