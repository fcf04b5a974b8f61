/**
 * Events on a real RabbitMQ: changes of the cloud are delivered at once, although it is polled every ten minutes. Also
 * restarts of the broker, new accounts and TLS.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { type Port, removePort } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { events, secrets } from '../../src/kube/resources.ts'
import { type BrokerEnvironment, startBrokerEnvironment, within } from '../operator/environment-with-broker.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { type Listener, listenToSharedQueue } from '../rigs/rabbitmq/shared-queue.ts'
import { eventually } from '../support/eventually.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { startTestSandbox } from './sandbox.fixture.ts'

/** Longer than any of these tests: only notifications start syncs. */
const slowPolls = { pollFastInterval: '10m', pollSlowInterval: '10m', pollErrorInterval: '1s' }

let rabbit: RabbitMq
before(async () => {
  rabbit = await startRabbitMq()
})
after(() => rabbit?.close())

describe('one operator', { timeout: 10 * 60_000 }, () => {
  let environment: BrokerEnvironment
  let first: Port
  let collector: Collector
  /** Notifications of the shared topic. */
  let published = 0
  let receivedByOther = 0
  let otherListener: Listener | undefined

  before(async () => {
    environment = await startBrokerEnvironment(rabbit, {
      intercept(notification, send) {
        if (notification.routingKey === 'notifications.info') published++
        send(notification)
      },
    })
    otherListener = await listenToSharedQueue(rabbit, () => receivedByOther++)
    first = environment.attach(environment.workers[0] ?? assert.fail(), environment.storage)
    collector = await startCollector()
    await environment.startOperator({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await environment.create({ settings: slowPolls })
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
  const metrics = async () => (await request(`${environment.operatorUrl()}/metrics`)).body.text()
  /** A sync that runs already would deliver a new port without its notification. */
  const atRest = () =>
    eventually(
      async () => {
        const before = await metrics()
        assert.match(before, /^multinic_queue_active 0$/m)
        await sleep(500) // a status may still arrive
        const syncs = /^multinic_operator_sync_seconds_count \d+$/m
        assert.equal(syncs.exec(await metrics())?.[0], syncs.exec(before)?.[0])
      },
      { within },
    )
  const waitForDelivered = (...lines: string[]) =>
    eventually(async () => assert.deepEqual(await environment.deliveredLines(), lines), { within })
  const one = 'worker-1: multinic0=10.10.0.10 mtu 9000'

  test('an attached port is delivered, and the status shows the time and lag of the event', async t => {
    await atRest()
    const started = performance.now()
    environment.attach(environment.workers[1] ?? assert.fail(), environment.backup)
    await waitForDelivered(one, 'worker-2: multinic0=10.20.0.10 mtu 1450')
    t.diagnostic(`attached → delivered: ${Math.round(performance.now() - started)} ms`)
    await eventually(async () => assert.ok((await environment.config()).status?.events?.lastEventAt), { within })
    const { lagMs = -1 } = (await environment.config()).status?.events ?? {}
    assert.ok(lagMs >= 0)
    const found = await metrics()
    assert.match(found, /^multinic_operator_notifications_total\{outcome="woke"\} [1-9]/m)
    assert.match(found, /^multinic_operator_bus_connected\{bus="127.0.0.1:5672"\} 1$/m)
    const spanOf = (name: string) => collector.spans.find(span => span.name === name) ?? assert.fail(`no ${name}`)
    await eventually(() => assert.match(String(spanOf('notification').attributes['openstack.request_id']), /^req-/), {
      within,
    })
    const belongs = () =>
      collector.spans.some(
        ({ name, parentSpanId }) => name === 'sync' && parentSpanId === spanOf('notification').spanId,
      )
    await eventually(() => assert.ok(belongs()), { within })
  })

  test('a detach without server id and a deletion are handled', async () => {
    const port = environment.attach(environment.workers[0] ?? assert.fail(), environment.backup)
    const two = 'worker-2: multinic0=10.20.0.10 mtu 1450'
    await waitForDelivered(`${one} multinic1=10.20.0.11 mtu 1450`, two)
    const more = environment.attach(environment.workers[0] ?? assert.fail(), environment.storage)
    await waitForDelivered(`${one} multinic1=10.20.0.11 mtu 1450 multinic2=10.10.0.11 mtu 9000`, two)
    await environment.waitForReady(2)
    environment.detach(port)
    await waitForDelivered(`${one} multinic2=10.10.0.11 mtu 9000`, two)
    await environment.waitForReady(2)
    removePort(environment.cloudState, more.id)
    await waitForDelivered(one, two)
    removePort(environment.cloudState, port.id)
  })

  test('a new MTU of a network is delivered, although networks are cached', async () => {
    await environment.waitForReady(2)
    const network = environment.cloudState.networks.get(environment.backup.networkId) ?? assert.fail()
    network.mtu = 1400
    environment.cloudState.emitPortsChange()
    await waitForDelivered(one, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('a renamed server gets a verdict, and keeps its node', async () => {
    await environment.waitForReady(2)
    const server = environment.workers[1] ?? assert.fail()
    server.name = 'renamed'
    environment.cloudState.emitPortsChange()
    await eventually(
      () => assert.ok(environment.verdicts.some(write => write.verdicts.some(one => one.reason === 'VmNameChanged'))),
      { within },
    )
    server.name = 'worker-2'
    environment.cloudState.emitPortsChange()
  })

  test('unreadable messages are counted and dropped, and later ones are handled', async () => {
    const connection = rabbit.connect()
    const channel = await connection.acquire()
    for (const body of ['nonsense', '{"oslo.message":"{"}', '[]'])
      await channel.basicPublish({ exchange: 'neutron', routingKey: 'notifications.error' }, Buffer.from(body))
    await channel.close()
    await connection.close()
    await eventually(
      async () => {
        assert.match(await metrics(), /^multinic_operator_notifications_total\{outcome="poison"\} 3$/m)
      },
      { within },
    )
    await environment.waitForReady(2)
    const port = environment.attach(environment.workers[2] ?? assert.fail(), environment.storage)
    await waitForDelivered(
      one,
      'worker-2: multinic0=10.20.0.10 mtu 1400',
      `worker-3: multinic0=${port.fixedIps[0]?.ipAddress} mtu 9000`,
    )
    removePort(environment.cloudState, port.id)
    await waitForDelivered(one, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('another consumer loses no message, and the operator has its own queue', async () => {
    await environment.flushNotifications()
    await eventually(() => assert.equal(receivedByOther, published), { within })
    assert.ok(published > 10)
    const queues = await rabbit.control('list_queues', 'name', 'exclusive', '--no-table-headers')
    assert.match(queues, /^multinic-operator\.[0-9a-f]{12}\ttrue$/m)
    await otherListener?.close()
    otherListener = undefined
    await rabbit.control('delete_queue', 'notifications.info')
  })

  test('a deleted queue is recreated, and changes in between are found', async () => {
    await environment.waitForReady(2)
    const queues = await rabbit.control('list_queues', 'name', '--no-table-headers')
    const own = queues.split('\n').find(name => name.startsWith('multinic-operator.')) ?? assert.fail(queues)
    await rabbit.control('delete_queue', own)
    environment.attach(environment.workers[0] ?? assert.fail(), environment.backup)
    await waitForDelivered(`${one} multinic3=10.20.0.11 mtu 1400`, 'worker-2: multinic0=10.20.0.10 mtu 1400')
  })

  test('a killed broker is reported as unreachable; after its restart all changes are delivered', async t => {
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
    await waitForDelivered(
      `${one} multinic3=10.20.0.11 mtu 1400`,
      'worker-2: multinic0=10.20.0.10 mtu 1400',
      'worker-3: multinic1=10.20.0.12 mtu 1400',
    )
    t.diagnostic(`broker restarted → delivered: ${Math.round(performance.now() - started)} ms`)
    await connected()
    await eventually(
      async () => {
        const reasons = (await environment.kube.list(events, { namespace })).items.map(event => event.reason)
        assert.ok(reasons.includes('EventBusUnreachable') && reasons.includes('EventBusConnected'), `${reasons}`)
      },
      { within },
    )
  })

  test('a new password in Contrabass is used without a restart', async () => {
    await rabbit.control('change_password', rabbit.user, 'changed')
    await rabbit.control('close_all_connections', 'requested by the test')
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

  test('a Secret of the object takes precedence, over TLS with its own CA', async () => {
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
    const waitForMessage = (expected: RegExp) =>
      eventually(
        async () => {
          const { status } = await environment.config()
          assert.match(status?.conditions?.find(({ type }) => type === 'EventsConnected')?.message ?? '', expected)
        },
        { within },
      )
    await waitForMessage(/certificate/)
    await environment.kube.patch(secrets, metadata, { data: data({ ...mine, RABBITMQ_CA: rabbit.ca }) })
    await waitForMessage(/ACCESS_REFUSED/)
    await environment.kube.patch(secrets, metadata, {
      data: data({ ...mine, RABBITMQ_CA: rabbit.ca, RABBITMQ_PASSWORD: 'right' }),
    })
    await waitForMessage(/listening on localhost:5671 to neutron, nova/)
    const { status } = await environment.config()
    assert.doesNotMatch(JSON.stringify(status), /right|wrong|rabbit-secret/)
    await environment.waitForReady(3)
    removePort(environment.cloudState, first.id)
    await eventually(async () => assert.match((await environment.deliveredLines())[0] ?? '', /^worker-1: multinic3/), {
      within,
    })
  })

  // The last one: its ports use up the Events of the object.
  test('twenty attaches in ten seconds are delivered one by one, and their removal is put on hold', async t => {
    await environment.waitForReady(3)
    const { cloudState, kube, workers, storage } = environment
    const before = await environment.deliveredLines()
    const [attachedAt, deliveredAt] = [new Map<string, number>(), new Map<string, number>()]
    const noteDelivered = async () => {
      for (const { spec } of await environment.nodes())
        for (const { portId = '' } of spec.interfaces)
          if (attachedAt.has(portId) && !deliveredAt.has(portId)) deliveredAt.set(portId, performance.now())
      assert.equal(deliveredAt.size, 20)
    }
    const delivered = eventually(noteDelivered, { within, every: 20 })
    for (let n = 0; n < 20; n++) {
      attachedAt.set(environment.attach(workers[n % 3] ?? assert.fail(), storage).id, performance.now())
      await sleep(500)
    }
    await delivered
    const waits = [...attachedAt].map(([id, at]) => Math.round((deliveredAt.get(id) ?? Number.NaN) - at))
    t.diagnostic(`attached → delivered: ${waits.join(', ')} ms`)
    await environment.waitForReady(3)
    for (const id of attachedAt.keys()) removePort(cloudState, id)
    await eventually(async () => assert.equal((await environment.config()).status?.heldRemovals?.length, 20), {
      within,
    })
    const annotations = { [openstackConfigAnnotations.approveRemovals]: 'burst' }
    await kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations } })
    await waitForDelivered(...before)
  })
})

describe('the sandbox with a message bus', { timeout: 5 * 60_000 }, () => {
  test('an attached port becomes a NIC and a detached one is removed at once, although the cloud is polled twice a minute', async t => {
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
