/** One trace of a port, through a real operator and a real Viola, to a collector. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { clusterId, type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type Collector, startCollector } from '../../test/support/otlp-collector.ts'
import { nodeConfigAnnotations } from '../contract/node-config.ts'
import { createLog } from '../telemetry/log.ts'
import { noTracer, parseTraceparent, type Span } from '../telemetry/trace.ts'
import type { SyncResult } from './sync.ts'
import { createTraces } from './traces.ts'

let stage: Stage
let collector: Collector
const lines: Record<string, unknown>[] = []

before(async () => {
  collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=collector-secret',
  }
  stage = await startStage(createLog({}, { write: line => lines.push(JSON.parse(line)) }), env)
  const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const port = addPort(stage.world, { server: addServer(stage.world, 'worker-1'), subnet })
  setPortStatus(stage.world, port.id, 'ACTIVE')
  await stage.startOperator(env)
  await stage.create({})
  await eventually(async () => assert.equal((await stage.nodes()).length, 1))
})
after(async () => {
  await stage.close()
  await collector.close()
})

const theNode = async () => (await stage.nodes())[0] ?? assert.fail('no node')
const annotated = async () => (await theNode()).metadata.annotations?.[nodeConfigAnnotations.traceparent]
const named = (name: string) => collector.spans.filter(span => span.name === name)

test('the object carries the trace of the sync that delivered it, and so do the log lines of both parts', async () => {
  const { traceId } = parseTraceparent(await annotated()) ?? assert.fail('no trace')
  await eventually(() => {
    const said = lines.filter(line => line['traceId'] === traceId).map(line => line['message'])
    assert.deepEqual(said.toSorted(), ['delivered', 'node configs created'])
  })
})

test('the spans of both parts are one trace, each below the one that asked for it', async () => {
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

test('a sync that changes nothing writes no annotation and tells no span', async () => {
  const [before, spans] = [await theNode(), collector.spans.length]
  const calls = stage.cloud.calls().neutron
  await eventually(() => assert.ok(stage.cloud.calls().neutron >= calls + 5))
  assert.deepEqual(await theNode(), before)
  assert.equal(collector.spans.length, spans)
})

test('the trace ends when the inventory knows that the node is configured', async () => {
  const { generation } = (await theNode()).metadata
  await stage.report('worker-1', { state: 'Configured', ...(generation && { observedGeneration: generation }) })
  await eventually(() => assert.equal(named('inventory').length, 1))
  const [inventory] = named('inventory')
  assert.deepEqual(inventory?.attributes, { 'multinic.node': 'worker-1', 'multinic.state': 'Configured' })
  assert.equal(inventory?.parentSpanId, named('deliver')[0]?.spanId)
  assert.equal(stage.records.at(-1)?.state, 'Configured')
})

test('a trace tells no secret', () => {
  const told = JSON.stringify([collector.asked.map(({ body }) => body), lines])
  assert.ok(told.includes(clusterId))
  const { user, provider } = stage.world
  for (const secret of ['collector-secret', user.password, provider.encryptKey]) assert.ok(!told.includes(secret))
})

test('a notice is the root of the trace that it starts, with the request that it tells of', () => {
  const spans: Span[] = []
  const tracer = { on: true, record: (span: Span) => void spans.push(span), close: async () => {} }
  let now = 2_000
  const traces = createTraces(
    tracer,
    (_stage, work) => work(),
    () => now,
  )
  const requestId = 'req-0f6d3b1c-0000-4000-8000-000000000000'
  const trace = traces.begin({ event: 'port.create.end', at: 1_900, heardAt: 1_990, requestId })
  now = 2_100
  trace.end('team/main', aResult(['worker-1'], 'Pending'))
  assert.deepEqual(
    spans.map(({ name, start, end, attributes }) => ({ name, start, end, attributes })),
    [
      {
        name: 'notice',
        start: 1_900,
        end: 2_000,
        attributes: { 'multinic.event': 'port.create.end', 'openstack.request_id': requestId },
      },
      { name: 'sync', start: 2_000, end: 2_100, attributes: { 'multinic.config': 'team/main', 'multinic.nodes': 1 } },
    ],
  )
  assert.equal(spans[1]?.parentSpanId, spans[0]?.spanId)
})

test('without a collector there is an id to follow, and nothing is kept', async () => {
  const timed = <T>(_stage: string, work: () => Promise<T>) => work()
  const trace = createTraces(noTracer, timed, () => assert.fail('looked at the clock')).begin(undefined)
  assert.equal(parseTraceparent(trace.traceparent)?.traceId, trace.traceId)
  assert.equal(trace.timed, timed)
  trace.end('team/main', aResult(['worker-1'], 'Pending'))
})

function aResult(delivered: string[], state: string): SyncResult {
  const nodes = delivered.map(nodeName => ({ nodeName, state }))
  const findings = { nodes, place: { viola: '', providerId: 'p1' } }
  return { changed: delivered.length, delivered, findings } as unknown as SyncResult
}
