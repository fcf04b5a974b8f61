import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport } from '../contract/agent-report.ts'
import { nodeConfigAnnotations } from '../contract/node-config.ts'
import { noTracer, parseTraceparent, type Span } from '../telemetry/trace.ts'
import { aConfig, aJob, aReport, observedWith, start } from './controller.fixture.ts'
import type { StatusUpdate } from './plan/step.ts'
import { createTraces, traceIdOf } from './traces.ts'

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const annotations = { [nodeConfigAnnotations.traceparent]: `00-${traceId}-${spanId}-01` }
const config = aConfig({ metadata: { annotations } })
const configured = aConfig({ metadata: { annotations }, status: { state: 'Configured', observedGeneration: 3 } })

function collected(at = start) {
  const spans: Span[] = []
  const tracer = { on: true, record: (span: Span) => void spans.push(span), close: async () => {} }
  return { spans, traces: createTraces(tracer, () => new Date(at)) }
}

test('the Job of a spec that is not settled continues the trace of its delivery', () => {
  const { traces, spans } = collected()
  const trace = traces.forJob(config, 'apply')
  trace.created('job-1', start - 7)
  const place = parseTraceparent(trace.traceparent)
  assert.equal(trace.traceId, traceId)
  assert.deepEqual(
    spans.map(({ name, parentSpanId, spanId, start, end }) => ({ name, parentSpanId, spanId, start, end })),
    [{ name: 'job', parentSpanId: spanId, spanId: place?.spanId, start: start - 7, end: start }],
  )
})

for (const [what, one, action] of [
  ['a check', config, 'check'],
  ['a cleanup', config, 'cleanup'],
  ['a run after a reboot', configured, 'apply'],
  ['a config that was delivered without a trace', aConfig(), 'apply'],
] as const)
  test(`${what} gets a trace of its own`, () => {
    const { traces, spans } = collected()
    const trace = traces.forJob(one, action)
    trace.created('job-1', start)
    assert.notEqual(trace.traceId, traceId)
    assert.equal(parseTraceparent(trace.traceparent)?.traceId, trace.traceId)
    assert.equal(spans[0]?.parentSpanId, undefined)
  })

test('without a collector the Job still has a trace ID', () => {
  const traces = createTraces(noTracer, () => assert.fail('read the clock'))
  const trace = traces.forJob(config, 'apply')
  trace.created('job-1', start)
  traces.resultWritten(observedWith({ config }), aResult({}))
  assert.deepEqual(parseTraceparent(trace.traceparent), { traceId, spanId })
})

function aResult(timings: AgentReport['timings'], values: Partial<StatusUpdate> = {}): StatusUpdate {
  const report = aReport(config, { timings })
  const update = { state: 'Configured', reason: 'AllInterfacesConfigured', message: '', progressing: false } as const
  return { ...update, failedAttempts: 0, job: 'job-1', result: { bootID: 'boot-1', report }, ...values }
}

const jobPlace = '00-0af7651916cd43dd8448eb211c80319c-1111111111111111-01'
const observed = observedWith({
  config,
  jobs: [aJob(config, { name: 'job-1', createdAt: start, traceparent: jobPlace })],
})
const short = ({ name, start: from, end, service, error }: Span) =>
  [name, from - start, end - start, service, error].filter(part => part !== undefined).join(' ')

test('the timings of a report become spans of the agent', () => {
  const { traces, spans } = collected(start + 2_000)
  const timings = { startedAt: start + 1_000, applyAt: start + 1_100, apply: 50, verify: 300, total: 600 }
  traces.resultWritten(observed, aResult(timings))
  assert.deepEqual(spans.map(short), [
    'pod-start 0 1000',
    'agent 1000 1600 multinic-agent',
    'apply 1100 1150 multinic-agent',
    'verify 1150 1450 multinic-agent',
    'status 1600 2000',
  ])
  const [podStart, agent, apply, verify, status] = spans
  for (const span of [podStart, agent, status]) assert.equal(span?.parentSpanId, '1111111111111111')
  for (const span of [apply, verify]) assert.equal(span?.parentSpanId, agent?.spanId)
})

test('an agent that applied nothing has no apply span, and a missing report leaves only the status span', () => {
  const { traces, spans } = collected(start + 2_000)
  traces.resultWritten(observed, aResult({ startedAt: start + 1_000, total: 20, apply: 0, verify: 0 }))
  const missing = aResult({}, { state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } })
  traces.resultWritten(observed, missing)
  assert.deepEqual(spans.map(short), [
    'pod-start 0 1000',
    'agent 1000 1020 multinic-agent',
    'status 1020 2000',
    'status 2000 2000 ReportMissing',
  ])
})

test('an update without a result, or of a Job without a trace, makes no span', () => {
  const { traces, spans } = collected()
  const { result: _, ...waiting } = aResult({})
  traces.resultWritten(observed, waiting)
  traces.resultWritten(observedWith({ config, jobs: [aJob(config, { name: 'job-1' })] }), aResult({}))
  assert.deepEqual(spans, [])
})

test('a log line has the trace ID of its Job, else that of the config', () => {
  const other = aJob(config, { name: 'job-1', traceparent: `00-${'a'.repeat(32)}-1111111111111111-01` })
  assert.equal(traceIdOf(observedWith({ config, jobs: [other] }), aResult({})), 'a'.repeat(32))
  assert.equal(traceIdOf(observedWith({ config }), undefined), traceId)
  assert.equal(traceIdOf(observedWith({ config: aConfig() }), undefined), undefined)
})
