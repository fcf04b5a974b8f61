/**
 * Spans of the controller and its agents: the Job, the start of its Pod, the stages of the agent (from its report), and the
 * status.
 *
 * A Job belongs to the trace that delivered the spec until the config is settled. Checks, repairs and runs after a reboot
 * get a trace of their own.
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
import { isSettled } from './plan/config-status.ts'
import type { Action, AgentJob, Observed } from './plan/observed.ts'
import type { StatusUpdate } from './plan/step.ts'

export interface Traces {
  /** For a Job that is about to be created. */
  forJob(config: NodeConfig, action: Action): JobTrace
  /** The result of a Job is in the status. */
  resultWritten(observed: Observed, update: StatusUpdate): void
}

export interface JobTrace {
  readonly traceId: string
  /** For the Job, and through it for the agent. */
  readonly traceparent: string
  /** Call it once the Job exists. */
  created(name: string, observedAt: number): void
}

export function createTraces(tracer: Tracer, now: () => Date): Traces {
  /** Creation times in milliseconds: Kubernetes records seconds. */
  const createdAt = new Map<string, number>()

  return {
    forJob(config, action) {
      const delivered = action === 'apply' && !isSettled(config) ? contextOf(config) : undefined
      const context = delivered ? childOf(delivered) : newTrace()
      if (!tracer.on) return { ...idsOf(delivered ?? context, false), created: () => {} }
      return {
        ...idsOf(context, true),
        created(name, start) {
          const end = now().getTime()
          if (createdAt.size >= maxTrackedJobs) createdAt.clear()
          createdAt.set(name, end)
          const attributes = { 'multinic.node': config.spec.nodeName, 'multinic.job': name, 'multinic.action': action }
          const parentSpanId = delivered?.spanId
          tracer.record({ ...context, parentSpanId, name: 'job', kind: 'client', start, end, attributes })
        },
      }
    },
    resultWritten(observed, update) {
      const job = observed.jobs.find(({ name }) => name === update.job)
      const context = tracer.on && update.result ? parseTraceparent(job?.traceparent) : undefined
      if (!job || !context) return
      const created = createdAt.get(job.name) ?? job.createdAt
      createdAt.delete(job.name)
      for (const span of resultSpans(context, job, { created, now: now().getTime() }, update)) tracer.record(span)
    },
  }
}

function idsOf(context: TraceContext, sampled: boolean): Pick<JobTrace, 'traceId' | 'traceparent'> {
  return { traceId: context.traceId, traceparent: traceparentOf(context, sampled) }
}

/** A bound against leaks: far fewer Jobs run at the same time. */
const maxTrackedJobs = 10_000

/** The trace of the Job whose result is in the update, else that of the config: for log lines. */
export function traceIdOf(observed: Observed, update: StatusUpdate | undefined): string | undefined {
  const job = update?.result && observed.jobs.find(({ name }) => name === update.job)
  return (parseTraceparent(job?.traceparent) ?? contextOf(observed.config))?.traceId
}

function contextOf({ metadata }: NodeConfig): TraceContext | undefined {
  return parseTraceparent(metadata.annotations?.[nodeConfigAnnotations.traceparent])
}

function resultSpans(
  context: TraceContext,
  job: AgentJob,
  at: { created: number; now: number },
  update: StatusUpdate,
): Span[] {
  const child = (name: string, start: number, end: number, more: Partial<Span> = {}): Span => ({
    ...childOf(context),
    parentSpanId: context.spanId,
    name,
    kind: 'internal',
    start,
    end,
    ...more,
  })
  const attributes = { 'multinic.state': update.state, 'multinic.reason': update.reason }
  const error = update.state === 'Failed' ? update.reason : undefined
  const status = (since: number) => child('status', since, at.now, { kind: 'client', attributes, error })
  const {
    startedAt,
    total = 0,
    applyAt,
    apply = 0,
    verify = 0,
  }: AgentReport['timings'] = update.result?.report?.timings ?? {}
  if (startedAt === undefined) return [status(job.endedAt ?? at.now)]
  const service = 'multinic-agent'
  const agent = child('agent', startedAt, startedAt + total, { service, attributes: { 'multinic.job': job.name } })
  const stage = (name: string, start: number, ms: number) =>
    child(name, start, start + ms, { service, parentSpanId: agent.spanId })
  const stages = applyAt === undefined ? [] : [stage('apply', applyAt, apply), stage('verify', applyAt + apply, verify)]
  return [child('pod-start', at.created, startedAt), agent, ...stages, status(startedAt + total)]
}
