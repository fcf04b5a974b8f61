/**
 * Notifications of Neutron and Nova about changes of the cloud state: the same events, exchanges and envelope as the real ones.
 * As in real services, a change of only the port status sends nothing.
 */
import { randomUUID } from 'node:crypto'
import { Connection } from 'rabbitmq-client'
import { messageOf } from '../../src/runtime/errors.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { seconds } from './messages.ts'
import { networkBody, portBody, subnetBody } from './neutron.ts'
import type { CloudState, Network, Port, Server, Subnet } from './state.ts'

export interface Notification {
  exchange: 'neutron' | 'nova'
  routingKey: string
  event: string
  body: Buffer
}

export interface NotificationsOptions {
  url: string
  log: Log
  /** Decides what is sent; by default each notification is sent once and immediately. */
  intercept?: (notification: Notification, send: (notification: Notification) => void) => void
}

export interface Notifications {
  /** Resolves when the broker has confirmed all notifications so far. */
  sent(): Promise<void>
  close(): Promise<void>
}

export async function startNotifications(
  cloudState: CloudState,
  options: NotificationsOptions,
): Promise<Notifications> {
  const { url, log, intercept = (notification, send) => send(notification) } = options
  const connection = new Connection({ url, connectionName: 'sandbox-cloud', retryLow: 200, retryHigh: 2_000 })
  connection.on('error', error => log.warn('message bus connection failed', { error: messageOf(error) }))
  // Declared like in the real services.
  const exchanges = ['neutron', 'nova'].map(exchange => ({ exchange, type: 'topic', durable: false }))
  const publisher = connection.createPublisher({ confirm: true, maxAttempts: 2, exchanges })
  const unconfirmed = new Set<Promise<void>>()

  function send({ exchange, routingKey, body }: Notification): void {
    const properties = { contentType: 'application/json', contentEncoding: 'utf-8', durable: true }
    const sending = publisher
      .send({ exchange, routingKey, ...properties }, body)
      .catch(error => log.warn('cannot send notification', { error: messageOf(error) }))
      .finally(() => unconfirmed.delete(sending))
    unconfirmed.add(sending)
  }

  onNotification(cloudState, notification => intercept(notification, send))
  await connection.onConnect(20_000)
  // Declare the exchanges now: a consumer may bind to them before the first notification.
  await connection.acquire().then(async channel => {
    for (const exchange of exchanges) await channel.exchangeDeclare(exchange)
    await channel.close()
  })
  return {
    sent: async () => {
      await Promise.all(unconfirmed)
    },
    async close() {
      await Promise.race([publisher.close(), new Promise(resolve => setTimeout(resolve, 500).unref())])
      connection.unsafeDestroy()
    },
  }
}

/** Calls the listener with each notification that a change of the cloud state causes. */
export function onNotification(cloudState: CloudState, listener: (notification: Notification) => void): void {
  let before = snapshotOf(cloudState)
  cloudState.onPortsChange(() => {
    const now = snapshotOf(cloudState)
    const notifications = notificationsFor(cloudState, before, now)
    before = now
    for (const notification of notifications) listener(notification)
  })
}

interface Snapshot {
  ports: ReadonlyMap<string, Port>
  servers: ReadonlyMap<string, Server>
  subnets: ReadonlyMap<string, Subnet>
  networks: ReadonlyMap<string, Network>
}

function snapshotOf({ ports, servers, subnets, networks }: CloudState): Snapshot {
  return { ports: copied(ports), servers: copied(servers), subnets: copied(subnets), networks: copied(networks) }
}

function copied<V extends object>(entries: ReadonlyMap<string, V>): Map<string, V> {
  return new Map([...entries].map(([id, entry]) => [id, { ...entry }]))
}

interface Difference<V> {
  old: V | undefined
  now: V | undefined
}

function differences<V extends object>(
  before: ReadonlyMap<string, V>,
  now: ReadonlyMap<string, V>,
  keyOf: (entry: V) => string,
): Difference<V>[] {
  const removed = [...before.entries()].filter(([id]) => !now.has(id)).map(([, old]) => ({ old, now: undefined }))
  const changed = [...now.entries()].flatMap(([id, entry]) => {
    const old = before.get(id)
    return old && keyOf(old) === keyOf(entry) ? [] : [{ old, now: entry }]
  })
  return [...removed, ...changed]
}

function notificationsFor(cloudState: CloudState, before: Snapshot, now: Snapshot): Notification[] {
  const portKey = ({ status: _, updatedAt: __, revision: ___, ...compared }: Port) => JSON.stringify(compared)
  return [
    ...differences(before.networks, now.networks, JSON.stringify).flatMap(change =>
      neutronNotifications('network', change, network => networkBody(cloudState, network)),
    ),
    ...differences(before.subnets, now.subnets, JSON.stringify).flatMap(change =>
      neutronNotifications('subnet', change, subnet => subnetBody(cloudState, subnet)),
    ),
    ...differences(before.ports, now.ports, portKey).flatMap(change => [
      ...neutronNotifications('port', change, portBody),
      ...interfaceNotifications(now.servers, change),
    ]),
    ...differences(before.servers, now.servers, JSON.stringify).flatMap(serverNotifications),
  ]
}

/** Start and end notifications of Neutron, such as `port.create.start` and `port.create.end`. */
function neutronNotifications<V extends { id: string }>(
  kind: string,
  { old, now }: Difference<V>,
  bodyOf: (entry: V) => object,
): Notification[] {
  const neutron = (event: string, payload: object) => notification('neutron', 'notifications.info', event, payload)
  if (now && !old)
    return [neutron(`${kind}.create.start`, { [kind]: {} }), neutron(`${kind}.create.end`, { [kind]: bodyOf(now) })]
  if (now)
    return [
      neutron(`${kind}.update.start`, { [kind]: {}, id: now.id }),
      neutron(`${kind}.update.end`, { [kind]: bodyOf(now) }),
    ]
  if (!old) return []
  return [
    neutron(`${kind}.delete.start`, { [`${kind}_id`]: old.id }),
    neutron(`${kind}.delete.end`, { [kind]: bodyOf(old), [`${kind}_id`]: old.id }),
  ]
}

function interfaceNotifications(servers: ReadonlyMap<string, Server>, { old, now }: Difference<Port>): Notification[] {
  if (old?.deviceId === now?.deviceId) return []
  const forPort = (port: Port | undefined, action: string) => {
    const server = servers.get(port?.deviceId ?? '')
    if (!server) return []
    return ['start', 'end'].map(step =>
      notification('nova', 'versioned_notifications.info', `instance.${action}.${step}`, versionedPayload(server)),
    )
  }
  return [...forPort(old, 'interface_detach'), ...forPort(now, 'interface_attach')]
}

function serverNotifications({ old, now }: Difference<Server>): Notification[] {
  const server = now ?? old
  if (!server) return []
  const action = !old ? 'create.end' : !now ? 'delete.end' : 'update'
  const { id, name, projectId, metadata, status } = server
  const flat = { tenant_id: projectId, instance_id: id, display_name: name, state: status.toLowerCase(), metadata }
  return [
    notification('nova', 'notifications.info', `compute.instance.${action}`, flat),
    notification('nova', 'versioned_notifications.info', `instance.${action}`, versionedPayload(server)),
  ]
}

function versionedPayload({ id, name, projectId, metadata, status, createdAt }: Server): object {
  return {
    'nova_object.name': 'InstanceActionPayload',
    'nova_object.namespace': 'nova',
    'nova_object.version': '1.8',
    'nova_object.data': {
      uuid: id,
      tenant_id: projectId,
      display_name: name,
      host_name: name,
      host: 'sandbox',
      state: status.toLowerCase(),
      created_at: seconds(createdAt),
      ip_addresses: [],
      metadata,
    },
  }
}

function notification(
  exchange: Notification['exchange'],
  routingKey: string,
  event: string,
  payload: object,
): Notification {
  const inner = {
    message_id: randomUUID(),
    publisher_id: exchange === 'neutron' ? 'network.sandbox' : 'compute.sandbox',
    event_type: event,
    priority: 'INFO',
    payload,
    timestamp: new Date().toISOString().replace('T', ' ').replace('Z', '000'),
    _unique_id: randomUUID().replaceAll('-', ''),
    _context_request_id: `req-${randomUUID()}`,
  }
  const body = Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) }))
  return { exchange, routingKey, event, body }
}
