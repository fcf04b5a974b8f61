/**
 * The traces of syncs: one begins with a notice or with the sync itself, goes with what is delivered, and ends when the
 * inventory knows what became of it.
 *
 * A sync that delivers nothing leaves no spans, so that polling does not bury what people look for.
 */
import { childOf, newTrace, type Span, type TraceContext, type Tracer, traceparentOf } from '../telemetry/trace.ts'
import type { NoticeHint } from './events/cloud-events.ts'
import type { LookDeps, SyncStage } from './inspect.ts'
import type { SyncResult } from './sync.ts'

export interface SyncTrace {
  readonly traceId: string
  /** For Viola. */
  readonly traceparent: string
  /** The same, and each stage becomes a span. */
  timed: LookDeps['timed']
  /** The sync has ended, its status is written and the inventory told. */
  end(config: string, result: SyncResult | undefined): void
}

export interface Traces {
  begin(notice: NoticeHint | undefined): SyncTrace
}

/** Deliveries whose outcome is waited for; of more the oldest are let go. */
const mostAwaited = 10_000

export function createTraces(tracer: Tracer, timed: LookDeps['timed'], now: () => number): Traces {
  const awaited = new Map<string, TraceContext>()

  function begin(notice: NoticeHint | undefined): SyncTrace {
    const sync = newTrace()
    const delivery = childOf(sync)
    const traceparent = traceparentOf(delivery, tracer.on)
    if (!tracer.on) return { traceId: sync.traceId, traceparent, timed, end: () => {} }
    const start = now()
    const spans: Span[] = []

    async function told<T>(stage: SyncStage, work: () => Promise<T>): Promise<T> {
      const at = now()
      try {
        return await timed(stage, work)
      } finally {
        spans.push({ ...stageSpan(stage, sync, delivery), start: at, end: now() })
      }
    }

    return {
      traceId: sync.traceId,
      traceparent,
      timed: told,
      end(config, result) {
        const end = now()
        if (result) tellOutcomes(result, { start, end })
        if (!result || result.changed === 0) return
        const root = notice && childOf(sync)
        if (root) tracer.record({ ...root, name: 'notice', kind: 'consumer', ...noticeFacts(notice), end: start })
        tracer.record({
          ...sync,
          parentSpanId: root?.spanId,
          name: 'sync',
          kind: 'internal',
          start,
          end,
          attributes: { 'multinic.config': config, 'multinic.nodes': result.changed },
          error: result.error?.reason,
        })
        for (const span of spans) tracer.record(span)
        for (const node of result.delivered) follow(`${result.findings.place.providerId} ${node}`, delivery)
      },
    }
  }

  function follow(node: string, delivery: TraceContext): void {
    awaited.delete(node)
    awaited.set(node, delivery)
    const [oldest] = awaited.keys()
    if (awaited.size > mostAwaited && oldest !== undefined) awaited.delete(oldest)
  }

  /** What was delivered before and is decided now stands in the inventory from this moment. */
  function tellOutcomes({ findings, delivered }: SyncResult, { start, end }: Pick<Span, 'start' | 'end'>): void {
    if (awaited.size === 0) return
    for (const { nodeName, state } of findings.nodes) {
      const key = `${findings.place.providerId} ${nodeName}`
      const place = awaited.get(key)
      if (!place || delivered.includes(nodeName) || (state !== 'Configured' && state !== 'Failed')) continue
      awaited.delete(key)
      const attributes = { 'multinic.node': nodeName, 'multinic.state': state }
      tracer.record({
        ...childOf(place),
        parentSpanId: place.spanId,
        name: 'inventory',
        kind: 'client',
        start,
        end,
        attributes,
      })
    }
  }

  return { begin }
}

function stageSpan(stage: SyncStage, sync: TraceContext, delivery: TraceContext): Omit<Span, 'start' | 'end'> {
  const parent = { parentSpanId: sync.spanId }
  if (stage === 'deliver') return { ...delivery, ...parent, name: 'deliver', kind: 'client' }
  return { ...childOf(sync), ...parent, name: `sync.${stage}`, kind: 'internal' }
}

function noticeFacts({ event, at, heardAt, requestId }: NoticeHint): Pick<Span, 'start' | 'attributes'> {
  const attributes = { 'multinic.event': event, ...(requestId !== undefined && { 'openstack.request_id': requestId }) }
  return { start: at ?? heardAt, attributes }
}
