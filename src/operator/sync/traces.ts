/**
 * Traces of syncs. A trace starts with a notification or with the sync, continues through the delivery, and ends when the
 * inventory has the result.
 *
 * A sync that delivers nothing exports no spans. Otherwise polls would hide the traces of ports.
 */
import { childOf, newTrace, type Span, type TraceContext, type Tracer, traceparentOf } from '../../telemetry/trace.ts'
import type { NotificationHint } from '../events/hints.ts'
import type { InspectDeps, SyncStage } from '../observe/inspect.ts'
import type { SyncResult } from './sync.ts'

export interface SyncTrace {
  readonly traceId: string
  /** Sent to Viola. */
  readonly traceparent: string
  /** Runs a stage and records its span. */
  timed: InspectDeps['timed']
  /** Call it after the status and the inventory records are written. */
  end(config: string, result: SyncResult | undefined): void
}

export interface Traces {
  begin(notification: NotificationHint | undefined): SyncTrace
}

/** Deliveries that wait for their result. Above this number the oldest is dropped. */
const maxAwaited = 10_000

export function createTraces(tracer: Tracer, timed: InspectDeps['timed'], now: () => number): Traces {
  const awaited = new Map<string, TraceContext>()

  function begin(notification: NotificationHint | undefined): SyncTrace {
    const sync = newTrace()
    const delivery = childOf(sync)
    const traceparent = traceparentOf(delivery, tracer.on)
    if (!tracer.on) return { traceId: sync.traceId, traceparent, timed, end: () => {} }
    const start = now()
    const spans: Span[] = []

    async function traced<T>(stage: SyncStage, work: () => Promise<T>): Promise<T> {
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
      timed: traced,
      end(config, result) {
        const end = now()
        if (result) recordResults(result, { start, end })
        if (!result || result.changed === 0) return
        const root = notification && childOf(sync)
        if (root)
          tracer.record({
            ...root,
            name: 'notification',
            kind: 'consumer',
            ...notificationSpan(notification),
            end: start,
          })
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
        for (const node of result.delivered) awaitResult(`${result.findings.target.providerId} ${node}`, delivery)
      },
    }
  }

  function awaitResult(node: string, delivery: TraceContext): void {
    awaited.delete(node)
    awaited.set(node, delivery)
    const [oldest] = awaited.keys()
    if (awaited.size > maxAwaited && oldest !== undefined) awaited.delete(oldest)
  }

  /** Ends the traces of earlier deliveries whose nodes are configured or failed now. */
  function recordResults({ findings, delivered }: SyncResult, { start, end }: Pick<Span, 'start' | 'end'>): void {
    if (awaited.size === 0) return
    const nodesNow = new Set(delivered)
    for (const { nodeName, state } of findings.nodes) {
      const key = `${findings.target.providerId} ${nodeName}`
      const context = awaited.get(key)
      if (!context || nodesNow.has(nodeName) || (state !== 'Configured' && state !== 'Failed')) continue
      awaited.delete(key)
      tracer.record({
        ...childOf(context),
        parentSpanId: context.spanId,
        name: 'inventory',
        kind: 'client',
        start,
        end,
        attributes: { 'multinic.node': nodeName, 'multinic.state': state },
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

function notificationSpan({ event, sentAt, receivedAt, requestId }: NotificationHint) {
  const attributes = { 'multinic.event': event, ...(requestId !== undefined && { 'openstack.request_id': requestId }) }
  return { start: sentAt ?? receivedAt, attributes }
}
