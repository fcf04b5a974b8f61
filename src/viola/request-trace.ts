/**
 * Viola's spans of a trace: the request, and each object that it writes.
 *
 * An annotation of the object has the trace of its last write. An unchanged object is not written and keeps its annotation.
 */
import { childOf, parseTraceparent, type TraceContext, type Tracer, traceparentOf } from '../telemetry/trace.ts'
import type { RequestedNode } from './plan.ts'

export interface RequestTrace {
  readonly traceId: string
  /** Starts the span of one write. */
  write(node: RequestedNode): WriteTrace
  end(providerId: string, nodes: number): void
}

export interface WriteTrace {
  /** Value of the annotation. */
  readonly traceparent: string
  end(error?: string): void
}

/** Undefined if the caller sends no trace context: then Viola records no spans and writes no annotation. */
export function requestTrace(tracer: Tracer, header: unknown): RequestTrace | undefined {
  const caller = parseTraceparent(header)
  if (!caller) return undefined
  const { traceId } = caller
  if (!tracer.on) return { traceId, write: () => ({ traceparent: String(header), end: () => {} }), end: () => {} }
  const request = childOf(caller)
  const start = Date.now()
  return {
    traceId,
    write: node => writeTrace(tracer, request, node),
    end(providerId, nodes) {
      const attributes = { 'multinic.provider': providerId, 'multinic.nodes': nodes }
      const { spanId: parentSpanId } = caller
      tracer.record({ ...request, parentSpanId, name: 'viola', kind: 'server', start, end: Date.now(), attributes })
    },
  }
}

function writeTrace(tracer: Tracer, request: TraceContext, { nodeName, interfaces }: RequestedNode): WriteTrace {
  const context = childOf(request)
  const start = Date.now()
  const ports = interfaces.flatMap(({ portId }) => portId ?? []).join(',')
  const attributes = { 'multinic.node': nodeName, 'multinic.ports': ports }
  const { spanId: parentSpanId } = request
  return {
    traceparent: traceparentOf(context, true),
    end: error =>
      tracer.record({
        ...context,
        parentSpanId,
        name: 'cr',
        kind: 'client',
        start,
        end: Date.now(),
        attributes,
        error,
      }),
  }
}
