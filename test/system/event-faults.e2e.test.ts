/**
 * Faults of notifications on a real RabbitMQ: whether they are lost, duplicated, delayed or queued, the delivered nodes are
 * the same as without notifications.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { request } from 'undici'
import { removePort } from '../../sandbox/cloud/state.ts'
import { type BrokerEnvironment, startBrokerEnvironment, within } from '../operator/environment-with-broker.ts'
import { notificationFaults } from '../operator/notification-faults.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { eventually } from '../support/eventually.ts'

let rabbit: RabbitMq
before(async () => {
  rabbit = await startRabbitMq()
})
after(() => rabbit?.close())

describe('notification faults', { timeout: 10 * 60_000 }, () => {
  /** Polls find what notifications miss. */
  const polls = { pollFastInterval: '2s', pollSlowInterval: '2s' }
  let expected: string[] = []

  before(async () => {
    const environment = await startBrokerEnvironment(rabbit, { notifications: false })
    try {
      delete environment.cloudState.bus
      expected = (await changePorts(environment, () => {})).nodes
    } finally {
      await environment.close()
    }
  })

  /** Attaches ports, then removes others. Returns the times from the change to the delivery, in ms. */
  async function changePorts(environment: BrokerEnvironment, during: () => void) {
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
    const waitForDelivered = async (...nodes: string[]) => {
      const started = performance.now()
      during()
      await eventually(async () => assert.deepEqual(await environment.deliveredLines(), nodes), { within, every: 10 })
      const ms = performance.now() - started
      await environment.waitForReady(3)
      return ms
    }
    for (const worker of [one, two]) environment.attach(worker, environment.backup)
    environment.attach(three, environment.storage)
    const same = 'worker-1: multinic0=10.10.0.10 mtu 9000 multinic1=10.20.0.10 mtu 1450'
    const attachedMs = await waitForDelivered(
      same,
      'worker-2: multinic0=10.10.0.11 mtu 9000 multinic1=10.20.0.11 mtu 1450',
      'worker-3: multinic0=10.10.0.12 mtu 9000 multinic1=10.10.0.13 mtu 9000',
    )
    environment.detach(old[1] ?? assert.fail())
    removePort(environment.cloudState, old[2]?.id ?? '')
    const removedMs = await waitForDelivered(
      same,
      'worker-2: multinic1=10.20.0.11 mtu 1450',
      'worker-3: multinic1=10.10.0.13 mtu 9000',
    )
    return { nodes: await environment.deliveredLines(), attachedMs, removedMs }
  }

  for (const [name, createFault] of Object.entries(notificationFaults))
    test(`${name}: the delivered nodes are the same`, async t => {
      const { intercept, release = () => {}, during = () => {} } = createFault()
      const environment = await startBrokerEnvironment(rabbit, { intercept })
      try {
        const { nodes, attachedMs, removedMs } = await changePorts(environment, during)
        t.diagnostic(`${name}: attached in ${Math.round(attachedMs)} ms, removed in ${Math.round(removedMs)} ms`)
        assert.deepEqual(nodes, expected)
        release()
        await environment.flushNotifications()
        await environment.waitForReady(3)
        assert.deepEqual(await environment.deliveredLines(), expected)
      } finally {
        await environment.close()
      }
    })

  test('100,000 messages wait at the start: the delivered nodes are the same', async t => {
    const environment = await startBrokerEnvironment(rabbit)
    const connection = rabbit.connect()
    try {
      const queue = 'multinic-kept'
      const channel = await connection.acquire()
      // Like the queue of an earlier operator.
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
      const { nodes } = await changePorts(
        { ...environment, startOperator: () => startOperator({ RABBITMQ_QUEUE: queue }) },
        () => {},
      )
      assert.deepEqual(nodes, expected)
      // Only rabbitmqctl counts messages that are read and not acknowledged, and it takes a second of CPU time.
      await eventually(async () => assert.equal(await waiting(), 0), { within: 5 * 60_000, every: 250 })
      await eventually(
        async () => assert.match(await rabbit.control('list_queues', 'name', 'messages'), /multinic-kept\t0$/m),
        { within, every: 500 },
      )
      t.diagnostic(`100,000 waiting messages read: ${Math.round(performance.now() - started)} ms`)
      const metrics = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
      const syncs = [...metrics.matchAll(/^multinic_operator_syncs_total\{.*\} (\d+)$/gm)]
      const total = syncs.reduce((sum, [, count]) => sum + Number(count), 0)
      t.diagnostic(`syncs meanwhile: ${total}`)
      assert.ok(total < 200, 'bursts are coalesced')
    } finally {
      await connection.close()
      await environment.close()
    }
  })
})
