/** Traces in a real OpenTelemetry collector: one trace of a port, from the notification of the cloud to the agent. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RealCollector, startRealCollector } from '../rigs/otel-collector/rig.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'
import { isOneTrace, traceIdOf } from './trace.ts'

const within = 90_000
const node = 'worker-1'
let rabbit: RabbitMq
let collector: RealCollector
let system: TestSandbox

before(async () => {
  rabbit = await startRabbitMq()
  collector = await startRealCollector()
  system = await startTestSandbox({
    nodes: 1,
    rabbitmq: rabbit.url,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  await eventually(
    async () => {
      const { status } = await system.openstackConfig()
      assert.equal(status?.conditions?.find(({ type }) => type === 'EventsConnected')?.status, 'True')
    },
    { within },
  )
})
after(async () => {
  await system?.stop()
  await collector?.close()
  await rabbit?.close()
})

async function traceOfAttachedPort(subnet: string) {
  const [port] = system.attach({ vm: node, subnet })
  await system.waitUntilReady(within)
  return { port: port ?? assert.fail('no port was attached'), traceId: await traceIdOf(system, node) }
}

test('the collector has one trace of the port, from the notification to the agent', {
  timeout: 3 * within,
}, async () => {
  const { port, traceId } = await traceOfAttachedPort('storage')
  const spans = await isOneTrace(collector, traceId)
  const spanOf = (name: string) => spans.find(span => span.name === name) ?? assert.fail(`no span ${name}`)
  assert.equal(spanOf('sync').parentSpanId, spanOf('notification').spanId)
  assert.match(String(spanOf('notification').attributes['openstack.request_id']), /^req-/)
  assert.match(String(spanOf('cr').attributes['multinic.ports']), new RegExp(port.id))
  const services = ['notification', 'viola', 'job', 'agent'].map(name => spanOf(name).service)
  assert.deepEqual(services, ['multinic-operator', 'multinic-viola', 'multinic-controller', 'multinic-agent'])
  assert.deepEqual(
    spans.filter(({ failed }) => failed),
    [],
  )
})

test('while the collector is down ports become ready, and after its restart traces arrive again', {
  timeout: 4 * within,
}, async () => {
  await collector.kill()
  await traceOfAttachedPort('backup')
  await collector.start()
  await system.detach({ vm: node, all: true })
  await system.waitUntilReady(within)
  const { traceId } = await traceOfAttachedPort('storage')
  await isOneTrace(collector, traceId)
})
