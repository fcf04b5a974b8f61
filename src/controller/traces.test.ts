import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport } from '../contract/agent-report.ts'
import { nodeConfigAnnotations } from '../contract/node-config.ts'
import { noTracer, parseTraceparent, type Span } from '../telemetry/trace.ts'
import { aConfig, aJob, aReport, seen, start } from './controller.fixture.ts'
import type { Said } from './plan/work.ts'
import { createTraces, traceFacts } from './traces.ts'

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const annotations = { [nodeConfigAnnotations.traceparent]: `00-${traceId}-${spanId}-01` }
const config = aConfig({ metadata: { annotations } })
const settled = aConfig({ metadata: { annotations }, status: { state: 'Configured', observedGeneration: 3 } })

function collected(at = start) {
  const spans: Span[] = []
  const tracer = { on: true, record: (span: Span) => void spans.push(span), close: async () => {} }
  return { spans, traces: createTraces(tracer, () => new Date(at)) }
}

test('the Job of a spec that is not settled goes on with the trace of its delivery', () => {
  const { traces, spans } = collected()
  const trace = traces.forJob(config, 'apply')
  trace.made('job-1', start - 7)
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
  ['a look after a reboot', settled, 'apply'],
  ['a config that was delivered without a trace', aConfig(), 'apply'],
] as const)
  test(`${what} is a story of its own`, () => {
    const { traces, spans } = collected()
    const trace = traces.forJob(one, action)
    trace.made('job-1', start)
    assert.notEqual(trace.traceId, traceId)
    assert.equal(parseTraceparent(trace.traceparent)?.traceId, trace.traceId)
    assert.equal(spans[0]?.parentSpanId, undefined)
  })

test('without a collector the Job still has an id to follow', () => {
  const traces = createTraces(noTracer, () => assert.fail('looked at the clock'))
  const trace = traces.forJob(config, 'apply')
  trace.made('job-1', start)
  traces.told(seen({ config }), aResult({}))
  assert.deepEqual(parseTraceparent(trace.traceparent), { traceId, spanId })
})

function aResult(timings: AgentReport['timings'], given: Partial<Said> = {}): Said {
  const report = aReport(config, { timings })
  const said = { state: 'Configured', reason: 'AllInterfacesConfigured', message: '', progressing: false } as const
  return { ...said, failedAttempts: 0, job: 'job-1', result: { bootID: 'boot-1', report }, ...given }
}

const jobPlace = '00-0af7651916cd43dd8448eb211c80319c-1111111111111111-01'
const observed = seen({ config, jobs: [aJob(config, { name: 'job-1', createdAt: start, traceparent: jobPlace })] })
const short = ({ name, start: from, end, service, error }: Span) =>
  [name, from - start, end - start, service, error].filter(word => word !== undefined).join(' ')

test('the report of an agent tells when it started and what it did', () => {
  const { traces, spans } = collected(start + 2_000)
  const timings = { startedAt: start + 1_000, applyAt: start + 1_100, apply: 50, verify: 300, total: 600 }
  traces.told(observed, aResult(timings))
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

test('an agent that applied nothing has no such stages, and a lost report tells of the status alone', () => {
  const { traces, spans } = collected(start + 2_000)
  traces.told(observed, aResult({ startedAt: start + 1_000, total: 20, apply: 0, verify: 0 }))
  const lost = aResult({}, { state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } })
  traces.told(observed, lost)
  assert.deepEqual(spans.map(short), [
    'pod-start 0 1000',
    'agent 1000 1020 multinic-agent',
    'status 1020 2000',
    'status 2000 2000 ReportMissing',
  ])
})

test('what is no result, or of a Job without a trace, is told to nobody', () => {
  const { traces, spans } = collected()
  const { result: _, ...waiting } = aResult({})
  traces.told(observed, waiting)
  traces.told(seen({ config, jobs: [aJob(config, { name: 'job-1' })] }), aResult({}))
  assert.deepEqual(spans, [])
})

test('a line of the log has the trace of the Job that it speaks of, else that of the config', () => {
  const other = aJob(config, { name: 'job-1', traceparent: `00-${'a'.repeat(32)}-1111111111111111-01` })
  assert.deepEqual(traceFacts(seen({ config, jobs: [other] }), aResult({})), { traceId: 'a'.repeat(32) })
  assert.deepEqual(traceFacts(seen({ config }), undefined), { traceId })
  assert.deepEqual(traceFacts(seen({ config: aConfig() }), undefined), {})
})
