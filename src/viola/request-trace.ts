/**
 * The part of a trace that passes through Viola: the request, and each object that it wrote.
 *
 * An object carries the trace of the write that last changed it as an annotation. One that is as wanted is not written, so
 * it keeps the one that it has.
 */
import { childOf, parseTraceparent, type TraceContext, type Tracer, traceparentOf } from '../telemetry/trace.ts'
import type { WantedNode } from './plan.ts'

export interface RequestTrace {
  readonly traceId: string
  /** An object is about to be written. */
  write(node: WantedNode): WriteTrace
  end(providerId: string, nodes: number): void
}

export interface WriteTrace {
  /** For the object. */
  readonly traceparent: string
  end(error?: string): void
}

/** Undefined when the caller follows no trace: nothing is told of it then, and nothing put into objects. */
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

function writeTrace(tracer: Tracer, request: TraceContext, { nodeName, interfaces }: WantedNode): WriteTrace {
  const place = childOf(request)
  const start = Date.now()
  const ports = interfaces.flatMap(({ portId }) => portId ?? []).join(',')
  const attributes = { 'multinic.node': nodeName, 'multinic.ports': ports }
  const { spanId: parentSpanId } = request
  return {
    traceparent: traceparentOf(place, true),
    end: error =>
      tracer.record({ ...place, parentSpanId, name: 'cr', kind: 'client', start, end: Date.now(), attributes, error }),
  }
}
