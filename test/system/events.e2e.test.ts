/**
 * Events on a real RabbitMQ: what the cloud tells is delivered at once, though it is polled once in ten minutes; whatever
 * becomes of the messages and the broker, the end is the same.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { request } from 'undici'
import { type Port, removePort } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { events, secrets } from '../../src/kube/resources.ts'
import { type BrokerEnvironment, startBrokerEnvironment, within } from '../operator/environment-with-broker.ts'
import { notificationFaults } from '../operator/notification-faults.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { type Listener, listenToSharedQueue } from '../rigs/rabbitmq/shared-queue.ts'
import { eventually } from '../support/eventually.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { startTestSandbox } from './sandbox.fixture.ts'

/** Far longer than any of these tests: what happens, happens by events. */
const rarely = { pollFastInterval: '10m', pollSlowInterval: '10m', pollErrorInterval: '1s' }

let rabbit: RabbitMq
before(async () => {
  rabbit = await startRabbitMq()
})
after(() => rabbit?.close())

describe('one operator', { timeout: 10 * 60_000 }, () => {
  let environment: BrokerEnvironment
  let first: Port
  let collector: Collector
  /** Of the topic that everybody may read. */
  let published = 0
  let heardByOther = 0
  let otherListener: Listener | undefined

  before(async () => {
    environment = await startBrokerEnvironment(rabbit, {
      intercept(notification, send) {
        if (notification.routingKey === 'notifications.info') published++
        send(notification)
      },
    })
    otherListener = await listenToSharedQueue(rabbit, () => heardByOther++)
    first = environment.attach(environment.workers[0] ?? assert.fail(), environment.storage)
    collector = await startCollector()
    await environment.startOperator({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await environment.create({ settings: rarely })
    await connected()
    await environment.waitForReady(1)
  })
  after(async () => {
    await otherListener?.close()
    await environment?.close()
    await collector?.close()
  })

  const connected = () =>
    eventually(async () => assert.equal(await environment.condition('EventsConnected'), 'True EventBusConnected'), {
      within,
    })
  const pictures = (...lines: string[]) =>
    eventually(async () => assert.deepEqual(await environment.deliveredLines(), lines), { within })
  const one = 'worker-1: multinic0=10.10.0.10 mtu 9000'

  test('an attached port is delivered, with its time and its lag in the status', async t => {
    const started = performance.now()
    environment.attach(environment.workers[1] ?? assert.fail(), environment.backup)
    await pictures(one, 'worker-2: multinic0=10.20.0.10 mtu 1450')
    t.diagnostic(`attached → delivered: ${Math.round(performance.now() - started)} ms`)
    await eventually(async () => assert.ok((await environment.config()).status?.events?.lastEventAt), { within })
    const { lagMs = -1 } = (await environment.config()).status?.events ?? {}
    assert.ok(lagMs >= 0)
    const numbers = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
    assert.match(numbers, /^multinic_operator_notices_total\{outcome="woke"\} [1-9]/m)
    assert.match(numbers, /^multinic_operator_bus_connected\{bus="127.0.0.1:5672"\} 1$/m)
    const told = (name: string) => collector.spans.find(span => span.name === name) ?? assert.fail(`no ${name}`)
    await eventually(() => assert.match(String(told('notice').attributes['openstack.request_id']), /^req-/), { within })
    const belongs = () =>
      collector.spans.some(({ name, parentSpanId }) => name === 'sync' && parentSpanId === told('notice').spanId)
    await eventually(() => assert.ok(belongs()), { within })
  })

  test('a detach that names no server is seen, and so is a deletion', async () => {
    const port = environment.attach(environment.workers[0] ?? assert.fail(), environment.backup)
    const two = 'worker-2: multinic0=10.20.0.10 mtu 1450'
    await pictures(`${one} multinic1=10.20.0.11 mtu 1450`, two)
    const more = environment.attach(environment.workers[0] ?? assert.fail(), environment.storage)
    await pictures(`${one} multinic1=10.20.0.11 mtu 1450 multinic2=10.10.0.11 mtu 9000`, two)
    await environment.waitForReady(2)
    environment.detach(port)
    await pictures(`${one} multinic2=10.10.0.11 mtu 9000`, two)
    await environment.waitForReady(2)
    removePort(environment.cloudState, more.id)
    await pictures(one, two)
    removePort(environment.cloudState, port.id)
  })

  test('a new MTU of a network is seen, though networks are kept for a minute', async () => {
    await environment.waitForReady(2)
    const network = environment.cloudState.networks.get(environment.backup.networkId) ?? assert.fail()
    network.mtu = 1400
    environment.cloudState.emitPortsChange()
    await pictures(one, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('a renamed server is seen, and keeps its node', async () => {
    await environment.waitForReady(2)
    const server = environment.workers[1] ?? assert.fail()
    server.name = 'renamed'
    environment.cloudState.emitPortsChange()
    await eventually(
      async () => {
        const verdicts = await (await request(`${environment.operatorUrl()}/v1/operator/verdicts`)).body.text()
        assert.match(verdicts, /"reason":"NameChanged"/)
      },
      { within },
    )
    server.name = 'worker-2'
    environment.cloudState.emitPortsChange()
  })

  test('poison is counted and dropped, and what comes after it is heard', async () => {
    const connection = rabbit.connect()
    const channel = await connection.acquire()
    for (const body of ['nonsense', '{"oslo.message":"{"}', '[]'])
      await channel.basicPublish({ exchange: 'neutron', routingKey: 'notifications.error' }, Buffer.from(body))
    await channel.close()
    await connection.close()
    await eventually(
      async () => {
        const numbers = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
        assert.match(numbers, /^multinic_operator_notices_total\{outcome="poison"\} 3$/m)
      },
      { within },
    )
    await environment.waitForReady(2)
    const port = environment.attach(environment.workers[2] ?? assert.fail(), environment.storage)
    await pictures(
      one,
      'worker-2: multinic0=10.20.0.10 mtu 1400',
      `worker-3: multinic0=${port.fixedIps[0]?.ipAddress} mtu 9000`,
    )
    removePort(environment.cloudState, port.id)
    await pictures(one, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('another listener has lost nothing, and the queue of the operator is its own', async () => {
    await environment.flushNotifications()
    await eventually(() => assert.equal(heardByOther, published), { within })
    assert.ok(published > 10)
    const queues = await rabbit.control('list_queues', 'name', 'exclusive', '--no-table-headers')
    assert.match(queues, /^multinic-operator\.[0-9a-f]{12}\ttrue$/m)
    await otherListener?.close()
    otherListener = undefined
    await rabbit.control('delete_queue', 'notifications.info')
  })

  test('a queue that is deleted under it is made anew, and what was missed is found', async () => {
    await environment.waitForReady(2)
    const queues = await rabbit.control('list_queues', 'name', '--no-table-headers')
    const own = queues.split('\n').find(name => name.startsWith('multinic-operator.')) ?? assert.fail(queues)
    await rabbit.control('delete_queue', own)
    environment.attach(environment.workers[0] ?? assert.fail(), environment.backup)
    await pictures(`${one} multinic1=10.20.0.11 mtu 1400`, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('a broker that is killed is told as away; once it is back, all is as it should be', async t => {
    await connected()
    await environment.waitForReady(2)
    await rabbit.kill()
    await eventually(
      async () => assert.equal(await environment.condition('EventsConnected'), 'False EventBusUnreachable'),
      {
        within,
      },
    )
    const { nextSyncAt = '' } = (await environment.config()).status ?? {}
    assert.ok(nextSyncAt !== '')
    environment.attach(environment.workers[2] ?? assert.fail(), environment.backup)
    const started = performance.now()
    await rabbit.start()
    await pictures(
      `${one} multinic1=10.20.0.11 mtu 1400`,
      'worker-2: multinic0=10.20.0.10 mtu 1400',
      'worker-3: multinic0=10.20.0.12 mtu 1400',
    )
    t.diagnostic(`broker restarted → delivered: ${Math.round(performance.now() - started)} ms`)
    await connected()
    await eventually(
      async () => {
        const told = (await environment.kube.list(events, { namespace })).items.map(event => event.reason)
        assert.ok(told.includes('EventBusUnreachable') && told.includes('EventBusConnected'), `${told}`)
      },
      { within },
    )
  })

  test('a new password in Contrabass is used without a restart', async () => {
    await rabbit.control('change_password', rabbit.user, 'changed')
    await rabbit.control('close_all_connections', 'the test says so')
    await eventually(
      async () => assert.equal(await environment.condition('EventsConnected'), 'False EventBusConfigError'),
      {
        within,
      },
    )
    if (environment.cloudState.bus) environment.cloudState.bus.password = 'changed'
    await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, forced('1'))
    await connected()
    await rabbit.control('change_password', rabbit.user, rabbit.password)
    if (environment.cloudState.bus) environment.cloudState.bus.password = rabbit.password
  })

  test('a Secret of the object takes over, over TLS with an authority of its own', async () => {
    const data = (fields: Record<string, string>) =>
      Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
    const mine = {
      RABBITMQ_URLS: `amqps://nobody.invalid:5671,amqps://localhost:${rabbit.tlsPort}/`,
      RABBITMQ_USER: 'listener',
      RABBITMQ_PASSWORD: 'wrong',
    }
    await rabbit.control('add_user', 'listener', 'right')
    await rabbit.control('set_permissions', 'listener', '^multinic-', '^multinic-', '.*')
    const metadata = { name: 'mine', namespace }
    await environment.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data: data(mine) })
    await environment.kube.patch(
      openstackConfigs,
      { namespace, name: 'main' },
      {
        spec: { secrets: { rabbitmqSecretRef: { name: 'mine' } } },
      },
    )
    const says = (words: RegExp) =>
      eventually(
        async () => {
          const { status } = await environment.config()
          assert.match(status?.conditions?.find(({ type }) => type === 'EventsConnected')?.message ?? '', words)
        },
        { within },
      )
    await says(/certificate/)
    await environment.kube.patch(secrets, metadata, { data: data({ ...mine, RABBITMQ_CA: rabbit.ca }) })
    await says(/ACCESS_REFUSED/)
    await environment.kube.patch(secrets, metadata, {
      data: data({ ...mine, RABBITMQ_CA: rabbit.ca, RABBITMQ_PASSWORD: 'right' }),
    })
    await says(/listening on localhost:5671 to neutron, nova/)
    const { status } = await environment.config()
    assert.doesNotMatch(JSON.stringify(status), /right|wrong|rabbit-secret/)
    await environment.waitForReady(3)
    removePort(environment.cloudState, first.id)
    await eventually(async () => assert.match((await environment.deliveredLines())[0] ?? '', /^worker-1: multinic1/), {
      within,
    })
  })
})

describe('the whole world', { timeout: 5 * 60_000 }, () => {
  test('a port that is attached becomes a NIC, and goes as it came, though the cloud is polled twice a minute', async t => {
    const system = await startTestSandbox({ nodes: 1, rabbitmq: rabbit.url })
    const timed = async (what: string, work: () => unknown) => {
      const started = performance.now()
      await work()
      await system.waitUntilReady(within)
      t.diagnostic(`${what}: ${Math.round(performance.now() - started)} ms`)
    }
    try {
      await eventually(
        async () => {
          const { status } = await system.openstackConfig()
          assert.equal(status?.conditions?.find(({ type }) => type === 'EventsConnected')?.status, 'True')
        },
        { within },
      )
      await timed('attached → NIC', () => system.attach({ vm: 'worker-1', subnet: 'storage' }))
      assert.ok((await system.nodeState('worker-1')).nics.some(({ name }) => name === 'multinic0'))
      await timed('detached → gone', () => system.detach({ vm: 'worker-1', all: true }))
      assert.ok(!(await system.nodeState('worker-1')).nics.some(({ name }) => name === 'multinic0'))
    } finally {
      await system.stop()
    }
  })
})

function forced(value: string) {
  return { metadata: { annotations: { 'multinic.io/force-reconcile': value } } }
}

describe('whatever becomes of the messages', { timeout: 10 * 60_000 }, () => {
  /** The safety net: in production minutes. */
  const polls = { pollFastInterval: '2s', pollSlowInterval: '2s' }
  let expected: string[] = []

  before(async () => {
    const environment = await startBrokerEnvironment(rabbit, { notifications: false })
    try {
      delete environment.cloudState.bus
      expected = (await story(environment, () => {})).picture
    } finally {
      await environment.close()
    }
  })

  /** Ports come, then others go; the times are from the change to the delivery, in ms. */
  async function story(environment: BrokerEnvironment, during: () => void) {
    const [one, two, three] = environment.workers
    assert.ok(one && two && three)
    const old = [one, two, three].map(worker => environment.attach(worker, environment.storage))
    await environment.startOperator()
    await environment.create({ settings: polls })
    await environment.waitForReady(3)
    if (environment.cloudState.bus)
      await eventually(
        async () => assert.equal(await environment.condition('EventsConnected'), 'True EventBusConnected'),
        {
          within,
        },
      )
    const reached = async (...picture: string[]) => {
      const started = performance.now()
      during()
      await eventually(async () => assert.deepEqual(await environment.deliveredLines(), picture), { within, every: 10 })
      const ms = performance.now() - started
      await environment.waitForReady(3)
      return ms
    }
    for (const worker of [one, two]) environment.attach(worker, environment.backup)
    environment.attach(three, environment.storage)
    const same = 'worker-1: multinic0=10.10.0.10 mtu 9000 multinic1=10.20.0.10 mtu 1450'
    const came = await reached(
      same,
      'worker-2: multinic0=10.10.0.11 mtu 9000 multinic1=10.20.0.11 mtu 1450',
      'worker-3: multinic0=10.10.0.12 mtu 9000 multinic1=10.10.0.13 mtu 9000',
    )
    environment.detach(old[1] ?? assert.fail())
    removePort(environment.cloudState, old[2]?.id ?? '')
    const went = await reached(
      same,
      'worker-2: multinic1=10.20.0.11 mtu 1450',
      'worker-3: multinic1=10.10.0.13 mtu 9000',
    )
    return { picture: await environment.deliveredLines(), came, went }
  }

  for (const [name, meddling] of Object.entries(notificationFaults))
    test(`${name}: the end is the same`, async t => {
      const { intercept, release = () => {}, during = () => {} } = meddling()
      const environment = await startBrokerEnvironment(rabbit, { intercept })
      try {
        const { picture, came, went } = await story(environment, during)
        t.diagnostic(`${name}: ports came in ${Math.round(came)} ms, went in ${Math.round(went)} ms`)
        assert.deepEqual(picture, expected)
        release()
        await environment.flushNotifications()
        await environment.waitForReady(3)
        assert.deepEqual(await environment.deliveredLines(), expected)
      } finally {
        await environment.close()
      }
    })

  test('100,000 messages wait at the start: the end is the same', async t => {
    const environment = await startBrokerEnvironment(rabbit)
    const connection = rabbit.connect()
    try {
      const queue = 'multinic-kept'
      const channel = await connection.acquire()
      // As an operator before this one has left it.
      await channel.queueDeclare({
        queue,
        durable: true,
        arguments: { 'x-max-length': 100_000, 'x-overflow': 'drop-head', 'x-expires': 30 * 60_000 },
      })
      for (const exchange of ['neutron', 'nova'])
        await channel.queueBind({ exchange, queue, routingKey: 'notifications.*' })
      const payload = (n: number) => ({ port: { id: `port-${n}`, device_id: environment.workers[n % 3]?.id } })
      for (let n = 0; n < 100_000; n++) {
        const inner = { event_type: 'port.update.end', payload: payload(n), timestamp: '2026-11-15 00:00:00.000000' }
        const body = Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) }))
        await channel.basicPublish({ exchange: 'neutron', routingKey: 'notifications.info' }, body)
      }
      const waiting = async () => (await connection.queueDeclare({ queue, passive: true })).messageCount
      await eventually(async () => assert.equal(await waiting(), 100_000), { within, every: 100 })
      await channel.close()
      const end = await environment.startOperator({ RABBITMQ_QUEUE: queue })
      await end()
      const started = performance.now()
      const { startOperator } = environment
      const { picture } = await story(
        { ...environment, startOperator: () => startOperator({ RABBITMQ_QUEUE: queue }) },
        () => {},
      )
      assert.deepEqual(picture, expected)
      // rabbitmqctl alone tells of those that are read and not confirmed, and takes a second of the machine each time.
      await eventually(async () => assert.equal(await waiting(), 0), { within: 5 * 60_000, every: 250 })
      await eventually(
        async () => assert.match(await rabbit.control('list_queues', 'name', 'messages'), /multinic-kept\t0$/m),
        { within, every: 500 },
      )
      t.diagnostic(`100,000 waiting messages read: ${Math.round(performance.now() - started)} ms`)
      const numbers = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
      const syncs = [...numbers.matchAll(/^multinic_operator_syncs_total\{.*\} (\d+)$/gm)]
      const total = syncs.reduce((sum, [, count]) => sum + Number(count), 0)
      t.diagnostic(`syncs meanwhile: ${total}`)
      assert.ok(total < 200, 'bursts are folded')
    } finally {
      await connection.close()
      await environment.close()
    }
  })
})
