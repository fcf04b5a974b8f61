/** The trace of a port through the operator and Viola to a collector. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type Collector, startCollector } from '../../../test/support/otlp-collector.ts'
import { nodeConfigAnnotations } from '../../contract/node-config.ts'
import { createLog } from '../../telemetry/log.ts'
import { noTracer, parseTraceparent, type Span } from '../../telemetry/trace.ts'
import type { SyncResult } from './sync.ts'
import { createTraces } from './traces.ts'

let environment: OperatorEnvironment
let collector: Collector
const lines: Record<string, unknown>[] = []

before(async () => {
  collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=collector-secret',
  }
  environment = await startOperatorEnvironment(createLog({}, { write: line => lines.push(JSON.parse(line)) }), env)
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const port = addPort(environment.cloudState, { server: addServer(environment.cloudState, 'worker-1'), subnet })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  await environment.startOperator(env)
  await environment.create({})
  await eventually(async () => assert.equal((await environment.nodes()).length, 1))
})
after(async () => {
  await environment.close()
  await collector.close()
})

const theNode = async () => (await environment.nodes())[0] ?? assert.fail('no node')
const annotated = async () => (await theNode()).metadata.annotations?.[nodeConfigAnnotations.traceparent]
const named = (name: string) => collector.spans.filter(span => span.name === name)

test('the node config and the log lines of both components carry the trace id of the sync', async () => {
  const { traceId } = parseTraceparent(await annotated()) ?? assert.fail('no trace')
  await eventually(() => {
    const messages = lines.filter(line => line['traceId'] === traceId).map(line => line['message'])
    assert.deepEqual([...new Set(messages)].toSorted(), ['audit', 'delivered', 'node configs created'])
  })
})

test('the spans of both components form one trace, each below its caller', async () => {
  const { traceId, spanId } = parseTraceparent(await annotated()) ?? assert.fail('no trace')
  await eventually(() => assert.ok(['sync', 'viola', 'cr'].every(name => named(name).length === 1)))
  const [sync, deliver, viola, cr] = ['sync', 'deliver', 'viola', 'cr'].map(name => named(name)[0])
  assert.equal(sync?.parentSpanId, undefined)
  assert.deepEqual(
    [deliver?.parentSpanId, viola?.parentSpanId, cr?.parentSpanId, spanId],
    [sync?.spanId, deliver?.spanId, viola?.spanId, cr?.spanId],
  )
  assert.deepEqual(
    [sync, deliver, viola, cr].map(span => [span?.service, span?.kind]),
    [
      ['multinic-operator', 1],
      ['multinic-operator', 3],
      ['multinic-viola', 2],
      ['multinic-viola', 3],
    ],
  )
  for (const span of collector.spans) assert.equal(span.traceId, traceId, span.name)
  assert.equal(cr?.attributes['multinic.ports'], (await theNode()).spec.interfaces[0]?.portId)
  for (const [outer, inner] of [
    [sync, deliver],
    [deliver, viola],
    [viola, cr],
  ])
    assert.ok(outer && inner && outer.start <= inner.start && inner.end <= outer.end, `${inner?.name} is outside`)
})

test('a sync that changes nothing writes no annotation and exports no span', async () => {
  const [before, spans] = [await theNode(), collector.spans.length]
  const calls = environment.cloud.calls().neutron
  await eventually(() => assert.ok(environment.cloud.calls().neutron >= calls + 5))
  assert.deepEqual(await theNode(), before)
  assert.equal(collector.spans.length, spans)
})

test('the trace ends when the inventory has the configured node', async () => {
  const { generation } = (await theNode()).metadata
  await environment.report('worker-1', { state: 'Configured', ...(generation && { observedGeneration: generation }) })
  await eventually(() => assert.equal(named('inventory').length, 1))
  const [inventory] = named('inventory')
  assert.deepEqual(inventory?.attributes, { 'multinic.node': 'worker-1', 'multinic.state': 'Configured' })
  assert.equal(inventory?.parentSpanId, named('deliver')[0]?.spanId)
  assert.equal(environment.records.at(-1)?.state, 'Configured')
})

test('a trace contains no secret', () => {
  const exported = JSON.stringify([collector.requests.map(({ body }) => body), lines])
  assert.ok(exported.includes(clusterId))
  const { user, provider } = environment.cloudState
  for (const secret of ['collector-secret', user.password, provider.encryptKey]) assert.ok(!exported.includes(secret))
})

test('a notification is the root span of the trace that it starts, with its request id', () => {
  const spans: Span[] = []
  const tracer = { on: true, record: (span: Span) => void spans.push(span), close: async () => {} }
  let now = 2_000
  const traces = createTraces(
    tracer,
    (_stage, work) => work(),
    () => now,
  )
  const requestId = 'req-0f6d3b1c-0000-4000-8000-000000000000'
  const trace = traces.begin({ event: 'port.create.end', sentAt: 1_900, receivedAt: 1_990, requestId })
  now = 2_100
  trace.end('team/main', aResult(['worker-1'], 'Pending'))
  assert.deepEqual(
    spans.map(({ name, start, end, attributes }) => ({ name, start, end, attributes })),
    [
      {
        name: 'notification',
        start: 1_900,
        end: 2_000,
        attributes: { 'multinic.event': 'port.create.end', 'openstack.request_id': requestId },
      },
      { name: 'sync', start: 2_000, end: 2_100, attributes: { 'multinic.config': 'team/main', 'multinic.nodes': 1 } },
    ],
  )
  assert.equal(spans[1]?.parentSpanId, spans[0]?.spanId)
})

test('without a collector there is a trace id, and no span is recorded', async () => {
  const timed = <T>(_stage: string, work: () => Promise<T>) => work()
  const trace = createTraces(noTracer, timed, () => assert.fail('read the clock')).begin(undefined)
  assert.equal(parseTraceparent(trace.traceparent)?.traceId, trace.traceId)
  assert.equal(trace.timed, timed)
  trace.end('team/main', aResult(['worker-1'], 'Pending'))
})

function aResult(delivered: string[], state: string): SyncResult {
  const nodes = delivered.map(nodeName => ({ nodeName, state }))
  const findings = { nodes, target: { viola: '', providerId: 'p1' } }
  return { changed: delivered.length, delivered, findings } as unknown as SyncResult
}
