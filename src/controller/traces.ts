/**
 * The part of a trace that passes through the controller and its agents: the Job, the start of its Pod, the agent's own
 * stages, which travel in its report, and the status.
 *
 * What the spec was delivered with is followed until its first result is good; a check, a repair or a look after a reboot
 * is a story of its own.
 */
import type { AgentReport } from '../contract/agent-report.ts'
import { type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import {
  childOf,
  newTrace,
  parseTraceparent,
  type Span,
  type TraceContext,
  type Tracer,
  traceparentOf,
} from '../telemetry/trace.ts'
import type { Action, AgentJob, Observed } from './plan/observed.ts'
import { isSettled, type Said } from './plan/work.ts'

export interface Traces {
  /** For a Job that is about to be made; `made` is called when it is. */
  forJob(config: NodeConfig, action: Action): JobTrace
  /** The result of a Job stands in the status now. */
  told(seen: Observed, said: Said): void
}

export interface JobTrace {
  readonly traceId: string
  /** For the Job, and by it for the agent. */
  readonly traceparent: string
  made(name: string, lookedAt: number): void
}

export function createTraces(tracer: Tracer, now: () => Date): Traces {
  /** When Jobs were made, to the millisecond: Kubernetes tells the second. */
  const madeAt = new Map<string, number>()

  return {
    forJob(config, action) {
      const delivered = action === 'apply' && !isSettled(config) ? placeOf(config) : undefined
      const place = delivered ? childOf(delivered) : newTrace()
      if (!tracer.on) return { ...idsOf(delivered ?? place, false), made: () => {} }
      return {
        ...idsOf(place, true),
        made(name, start) {
          const end = now().getTime()
          if (madeAt.size >= mostMade) madeAt.clear()
          madeAt.set(name, end)
          const attributes = { 'multinic.node': config.spec.nodeName, 'multinic.job': name, 'multinic.action': action }
          const parentSpanId = delivered?.spanId
          tracer.record({ ...place, parentSpanId, name: 'job', kind: 'client', start, end, attributes })
        },
      }
    },
    told(seen, said) {
      const job = seen.jobs.find(({ name }) => name === said.job)
      const place = tracer.on && said.result ? parseTraceparent(job?.traceparent) : undefined
      if (!job || !place) return
      const made = madeAt.get(job.name) ?? job.createdAt
      madeAt.delete(job.name)
      for (const span of resultSpans(place, job, { made, now: now().getTime() }, said)) tracer.record(span)
    },
  }
}

function idsOf(place: TraceContext, told: boolean): Pick<JobTrace, 'traceId' | 'traceparent'> {
  return { traceId: place.traceId, traceparent: traceparentOf(place, told) }
}

/** So many Jobs are never under way at once. */
const mostMade = 10_000

/** Where a Job or config stands, for the log. */
export function traceFacts(seen: Observed, said: Said | undefined): { traceId?: string } {
  const job = said?.result && seen.jobs.find(({ name }) => name === said.job)
  const place = parseTraceparent(job?.traceparent) ?? placeOf(seen.config)
  return place ? { traceId: place.traceId } : {}
}

function placeOf({ metadata }: NodeConfig): TraceContext | undefined {
  return parseTraceparent(metadata.annotations?.[nodeConfigAnnotations.traceparent])
}

function resultSpans(place: TraceContext, job: AgentJob, at: { made: number; now: number }, said: Said): Span[] {
  const child = (name: string, start: number, end: number, more: Partial<Span> = {}): Span => ({
    ...childOf(place),
    parentSpanId: place.spanId,
    name,
    kind: 'internal',
    start,
    end,
    ...more,
  })
  const attributes = { 'multinic.state': said.state, 'multinic.reason': said.reason }
  const error = said.state === 'Failed' ? said.reason : undefined
  const status = (since: number) => child('status', since, at.now, { kind: 'client', attributes, error })
  const {
    startedAt,
    total = 0,
    applyAt,
    apply = 0,
    verify = 0,
  }: AgentReport['timings'] = said.result?.report?.timings ?? {}
  if (startedAt === undefined) return [status(job.endedAt ?? at.now)]
  const service = 'multinic-agent'
  const agent = child('agent', startedAt, startedAt + total, { service, attributes: { 'multinic.job': job.name } })
  const stage = (name: string, start: number, ms: number) =>
    child(name, start, start + ms, { service, parentSpanId: agent.spanId })
  const stages = applyAt === undefined ? [] : [stage('apply', applyAt, apply), stage('verify', applyAt + apply, verify)]
  return [child('pod-start', at.made, startedAt), agent, ...stages, status(startedAt + total)]
}
