/**
 * Events with a real RabbitMQ. Time from a notification to the POST to Viola, of a single one and of twenty attaches in ten
 * seconds, with 1,000 VMs of 5 ports and 5 ms per call, compared with the minimal calls. And notifications per second,
 * compared with a consumer that only counts them, with the memory that 100,000 of them leave behind.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from 'rabbitmq-client'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import type { OpenstackConfig } from '../../src/contract/openstack-config.ts'
import { openStackBuses } from '../../src/openstack/bus.ts'
import { resolveSettings } from '../../src/operator/config.ts'
import { createCloudEvents } from '../../src/operator/events/cloud-events.ts'
import { createOperatorMetrics } from '../../src/operator/metrics.ts'
import { silent } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { projectId, startCloudStub, startViolaStub, subnetIds, vmIdOf } from '../operator/benchmark-stubs.ts'
import { clusterId, startOperatorEnvironment } from '../operator/environment.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { eventually } from '../support/eventually.ts'
import { collectGarbage } from '../support/garbage.ts'
import { startComponent } from './component.ts'
import { figure, type Goal, isolatedBench, percentile, printFigure } from './figure.ts'

const [vms, callMs, notifications, queued] = [1_000, 5, 25, 100_000]
/** The operator reads everything once in this time after notifications. */
const quietMs = 5_500
/** Twenty attaches in ten seconds. Neutron reports each twice: bound, and ACTIVE. */
const burst = { attaches: 20, everyMs: 500, activeAfterMs: 200 }

export const bench = isolatedBench(import.meta.filename, 15 * 60_000)

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const rabbit = await startRabbitMq()
  try {
    await notificationToViola(rabbit)
    await notificationsPerSecond(rabbit)
  } finally {
    await rabbit.close()
  }
  // Do not wait for closing connections.
  process.exit()
}

async function notificationToViola(rabbit: RabbitMq): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-'))
  const program = join(dir, 'multinic.mjs')
  await buildProgram(program)
  const environment = await startOperatorEnvironment()
  const bus = { url: `amqp://${rabbit.host}:${rabbit.port}/`, user: rabbit.user, password: rabbit.password }
  const cloud = await startCloudStub({ key: environment.cloudState.provider.encryptKey, vms, callMs, bus })
  const viola = await startViolaStub()
  // The reference writes elsewhere: the operator would see its writes as changes by someone else.
  const aside = await startViolaStub()
  const connection = rabbit.connect()
  const channel = await connection.acquire()
  try {
    await channel.exchangeDeclare({ exchange: 'neutron', type: 'topic', durable: false })
    await using operator = await startComponent('operator', program, {
      KUBECONFIG: environment.api.kubeconfig,
      OPERATOR_ADDR: '127.0.0.1:0',
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      CONTRABASS_ENDPOINT: cloud.url,
      VIOLA_ENDPOINT: viola.url,
    })
    await environment.create({
      subnetIDs: subnetIds,
      vmNames: Array.from({ length: vms }, (_, n) => vmIdOf(n)),
      credentials: { openstackProviderID: 'p', k8sProviderID: clusterId, projectID: projectId },
      settings: { pollFastInterval: '10m', pollSlowInterval: '10m' },
    })
    await eventually(
      async () => {
        const connected = (await environment.config()).status?.conditions?.find(
          ({ type }) => type === 'EventsConnected',
        )
        if (connected?.status !== 'True' || viola.nodes() < vms) throw new Error('not yet')
      },
      { within: 120_000 },
    )
    await waitUntilIdle(operator.url)
    const arrivals = new Map<string, (at: number) => void>()
    viola.onNode(({ interfaces }) => {
      for (const { portId = '' } of interfaces) arrivals.get(portId)?.(performance.now())
    })
    const secondNotifications: Promise<void>[] = []
    const attach = async (vm: number, activeAfterMs?: number) => {
      const port = cloud.attach(vm)
      const arrived = new Promise<number>(resolve => arrivals.set(port.id, resolve))
      const started = performance.now()
      await publish(channel, port)
      if (activeAfterMs !== undefined) secondNotifications.push(sleep(activeAfterMs).then(() => publish(channel, port)))
      return (await arrived) - started
    }
    const [ours, bare]: [number[], number[]] = [[], []]
    for (let vm = 0; vm < notifications; vm++) {
      bare.push(await bareCalls(cloud.url, viola.url, aside.url))
      ours.push(await attach(vm))
      await waitUntilIdle(operator.url)
    }
    const reference = { against: 'bare calls', reference: percentile(bare, 0.95) }
    const report = (name: string, times: readonly number[], goal: Goal) =>
      printFigure(figure(name, percentile(times, 0.95), 'ms', reference, goal))
    report('events.notification_to_viola_p95', ours, { atMostTimes: 3 })
    const attaches = Array.from({ length: burst.attaches }, async (_, n) => {
      await sleep(n * burst.everyMs)
      return attach(notifications + n, burst.activeAfterMs)
    })
    report('events.burst_p95_ms', await Promise.all(attaches), { atMost: 500 })
    // A fast delivery is before the second notification of its port.
    await Promise.all(secondNotifications)
  } finally {
    await channel.close()
    await connection.close()
    await Promise.all([cloud.close(), viola.close(), aside.close()])
    await environment.close()
    await rm(dir, { recursive: true, force: true })
  }
}

/** Waits until the syncs of the last notification have ended. */
async function waitUntilIdle(operator: string): Promise<void> {
  let [syncs, since] = [-1, performance.now()]
  while (performance.now() - since < quietMs) {
    const text = await (await request(`${operator}/metrics`)).body.text()
    const now = Number(/^multinic_operator_sync_seconds_count (\d+)$/m.exec(text)?.[1])
    if (now !== syncs) [syncs, since] = [now, performance.now()]
    await sleep(100)
  }
}

/** A complete port notification of Neutron. */
function bodyOf({ id, deviceId }: { id: string; deviceId: string }): Buffer {
  const port = {
    id,
    name: '',
    network_id: 'net-0',
    tenant_id: projectId,
    mac_address: 'fa:16:3e:00:00:01',
    admin_state_up: true,
    status: 'DOWN',
    device_id: deviceId,
    device_owner: 'compute:nova',
    fixed_ips: [{ subnet_id: 'subnet-0', ip_address: '10.0.0.1' }],
    allowed_address_pairs: [],
    extra_dhcp_opts: [],
    security_groups: ['04773342-711e-42e0-9d55-825c98f2729d'],
    'binding:vnic_type': 'normal',
    'binding:profile': {},
    'binding:host_id': 'compute-1',
    'binding:vif_type': 'ovs',
    'binding:vif_details': { connectivity: 'l2', port_filter: true, bridge_name: 'br-int' },
    revision_number: 2,
  }
  const inner = {
    message_id: '798906fb-477a-40db-a410-aff7dc6beda9',
    publisher_id: 'network.compute-1',
    event_type: 'port.update.end',
    priority: 'INFO',
    payload: { port },
    timestamp: new Date().toISOString().replace('T', ' ').replace('Z', '000'),
  }
  return Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) }))
}

function publish(channel: Channel, port: { id: string; deviceId: string }): Promise<void> {
  const properties = { contentType: 'application/json', contentEncoding: 'utf-8' }
  return channel.basicPublish({ exchange: 'neutron', routingKey: 'notifications.info', ...properties }, bodyOf(port))
}

/** List of ports, list of delivered nodes, and the POST of one node. */
async function bareCalls(cloud: string, viola: string, aside: string): Promise<number> {
  const started = performance.now()
  JSON.parse(await (await request(`${cloud}/v2.0/ports`)).body.text())
  JSON.parse(await (await request(`${viola}/v1/k8s/multinic/node-configs`)).body.text())
  const body = JSON.stringify([{ nodeName: 'bare', interfaces: [] }])
  await (await request(`${aside}/v1/k8s/multinic/node-configs`, { method: 'POST', body })).body.text()
  return performance.now() - started
}

async function notificationsPerSecond(rabbit: RabbitMq): Promise<void> {
  const connection = rabbit.connect()
  const channel = await connection.acquire()
  await channel.exchangeDeclare({ exchange: 'neutron', type: 'topic', durable: false })
  // A queue like that of cloud-events.ts, and one for the reference.
  const limits = { 'x-max-length': 100_000, 'x-overflow': 'drop-head', 'x-expires': 30 * 60_000 } as const
  for (const queue of ['ours', 'bare']) {
    await channel.queueDeclare({ queue, durable: true, arguments: limits })
    await channel.queueBind({ exchange: 'neutron', queue, routingKey: 'notifications.*' })
  }
  for (let n = 0; n < queued; n++) await publish(channel, { id: `port-${n}`, deviceId: vmIdOf(n % (2 * vms)) })
  await eventually(
    async () => {
      const queues = await rabbit.control('list_queues', 'name', 'messages')
      if (!['ours', 'bare'].every(name => queues.includes(`${name}\t${queued}`))) throw new Error(queues)
    },
    { within: 300_000, every: 500 },
  )
  // Half of the reference before and half after, so that other load slows both.
  // A consumer that stops has prefetched some more messages.
  const half = queued / 2 - 1_000
  const before = await bareSeconds(rabbit, half)
  const { rate, keptMiB, startMiB } = await ownRate(rabbit)
  const bare = (2 * half) / (before + (await bareSeconds(rabbit, half)))
  printFigure(
    figure(
      'events.notifications_per_s',
      rate,
      '/s',
      { against: 'bare consumer', reference: bare },
      { atLeastTimes: 0.5 },
    ),
  )
  printFigure(
    figure('events.kept_mib', keptMiB, 'MiB', { against: 'at the start', reference: startMiB }, { atMost: 10 }),
  )
  await channel.close()
  await connection.close()
}

async function bareSeconds(rabbit: RabbitMq, count: number): Promise<number> {
  const connection = rabbit.connect()
  let received = 0
  const done = Promise.withResolvers<void>()
  const started = performance.now()
  const consumer = connection.createConsumer(
    { queue: 'bare', queueOptions: { passive: true }, qos: { prefetchCount: 500 } },
    async () => {
      if (++received === count) done.resolve()
    },
  )
  consumer.on('error', done.reject)
  await done.promise
  const seconds = (performance.now() - started) / 1_000
  await consumer.close()
  await connection.close()
  return seconds
}

/** All that the operator does with a notification: parse it, find the affected objects, coalesce. */
async function ownRate(rabbit: RabbitMq): Promise<{ rate: number; keptMiB: number; startMiB: number }> {
  const metrics = createMetrics('operator')
  const operatorMetrics = createOperatorMetrics(metrics, () => new Date())
  let received = 0
  const done = Promise.withResolvers<void>()
  const cloudEvents = createCloudEvents({
    enabled: true,
    buses: openStackBuses,
    own: { user: rabbit.user, password: async () => rabbit.password, queue: 'ours' },
    isAllowedHost: () => true,
    wake: () => {},
    canTarget: () => true,
    log: silent,
    metrics: {
      bus: operatorMetrics.bus,
      notification(outcome, lag) {
        operatorMetrics.notification(outcome, lag)
        if (++received === queued) done.resolve()
      },
    },
  })
  const env = {
    CONTRABASS_ENDPOINT: 'http://x',
    VIOLA_ENDPOINT: 'http://x',
    RABBITMQ_URLS: `${rabbit.host}:${rabbit.port}`,
  }
  const config = { metadata: { name: 'main', namespace: 'bench' }, spec: {} } as OpenstackConfig
  const startMiB = liveMiB()
  const started = performance.now()
  await cloudEvents.follow(config, {
    settings: resolveSettings(env),
    bus: undefined,
    secret: async () => undefined,
    interest: () => new Set(Array.from({ length: vms }, (_, n) => `server ${vmIdOf(n)}`)),
  })
  await done.promise
  const rate = (received / (performance.now() - started)) * 1_000
  const keptMiB = liveMiB() - startMiB
  await cloudEvents.close()
  return { rate, keptMiB, startMiB }
}

/** What a collection keeps. The resident memory of this process depends on when V8 collected last. */
function liveMiB(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1_024 ** 2
}
