/**
 * What Neutron and Nova tell on the message bus when the world changes: the same events, exchanges and envelope as the real
 * ones. A change of a port's status alone is not told: neither do they.
 */
import { randomUUID } from 'node:crypto'
import { Connection } from 'rabbitmq-client'
import { messageOf } from '../../src/runtime/errors.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { seconds } from './http-server.ts'
import { networkBody, portBody, subnetBody } from './neutron.ts'
import type { Network, Port, Server, Subnet, World } from './state.ts'

export interface Notification {
  exchange: 'neutron' | 'nova'
  routingKey: string
  event: string
  body: Buffer
}

export interface NotificationsOptions {
  url: string
  log: Log
  /** What may become of a notification on its way; without it each is sent once and at once. */
  meddle?: (notification: Notification, send: (notification: Notification) => void) => void
}

export interface Notifications {
  /** Resolves when all that was told so far is with the broker. */
  sent(): Promise<void>
  close(): Promise<void>
}

export async function startNotifications(world: World, options: NotificationsOptions): Promise<Notifications> {
  const { url, log, meddle = (notification, send) => send(notification) } = options
  const connection = new Connection({ url, connectionName: 'sandbox-cloud', retryLow: 200, retryHigh: 2_000 })
  connection.on('error', error => log.warn('the cloud has lost its message bus', { error: messageOf(error) }))
  // As the services declare them.
  const exchanges = ['neutron', 'nova'].map(exchange => ({ exchange, type: 'topic', durable: false }))
  const publisher = connection.createPublisher({ confirm: true, maxAttempts: 2, exchanges })
  const underway = new Set<Promise<void>>()

  function send({ exchange, routingKey, body }: Notification): void {
    const properties = { contentType: 'application/json', contentEncoding: 'utf-8', durable: true }
    const sending = publisher
      .send({ exchange, routingKey, ...properties }, body)
      .catch(error => log.warn('a notification is lost', { error: messageOf(error) }))
      .finally(() => underway.delete(sending))
    underway.add(sending)
  }

  let before = pictureOf(world)
  world.onPorts(() => {
    const now = pictureOf(world)
    const news = newsOf(world, before, now)
    before = now
    for (const notification of news) meddle(notification, send)
  })
  await connection.onConnect(20_000)
  // An exchange exists from the first message on; who listens may come before it.
  await connection.acquire().then(async channel => {
    for (const exchange of exchanges) await channel.exchangeDeclare(exchange)
    await channel.close()
  })
  return {
    sent: async () => {
      await Promise.all(underway)
    },
    async close() {
      await Promise.race([publisher.close(), new Promise(resolve => setTimeout(resolve, 500).unref())])
      connection.unsafeDestroy()
    },
  }
}

interface Picture {
  ports: ReadonlyMap<string, Port>
  servers: ReadonlyMap<string, Server>
  subnets: ReadonlyMap<string, Subnet>
  networks: ReadonlyMap<string, Network>
}

function pictureOf({ ports, servers, subnets, networks }: World): Picture {
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
  mark: (entry: V) => string,
): Difference<V>[] {
  const gone = [...before.entries()].filter(([id]) => !now.has(id)).map(([, old]) => ({ old, now: undefined }))
  const moved = [...now.entries()].flatMap(([id, entry]) => {
    const old = before.get(id)
    return old && mark(old) === mark(entry) ? [] : [{ old, now: entry }]
  })
  return [...gone, ...moved]
}

function newsOf(world: World, before: Picture, now: Picture): Notification[] {
  const portMark = ({ status: _, updatedAt: __, revision: ___, ...told }: Port) => JSON.stringify(told)
  return [
    ...differences(before.networks, now.networks, JSON.stringify).flatMap(change =>
      ended('network', change, network => networkBody(world, network)),
    ),
    ...differences(before.subnets, now.subnets, JSON.stringify).flatMap(change =>
      ended('subnet', change, subnet => subnetBody(world, subnet)),
    ),
    ...differences(before.ports, now.ports, portMark).flatMap(change => [
      ...ended('port', change, portBody),
      ...interfaceNews(now.servers, change),
    ]),
    ...differences(before.servers, now.servers, JSON.stringify).flatMap(serverNews),
  ]
}

/** `port.create.start` and `.end`, and so on. */
function ended<V extends { id: string }>(
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

function interfaceNews(servers: ReadonlyMap<string, Server>, { old, now }: Difference<Port>): Notification[] {
  if (old?.deviceId === now?.deviceId) return []
  const versioned = (port: Port | undefined, action: string) => {
    const server = servers.get(port?.deviceId ?? '')
    if (!server) return []
    return ['start', 'end'].map(step =>
      notification('nova', 'versioned_notifications.info', `instance.${action}.${step}`, wrapped(server)),
    )
  }
  return [...versioned(old, 'interface_detach'), ...versioned(now, 'interface_attach')]
}

function serverNews({ old, now }: Difference<Server>): Notification[] {
  const server = now ?? old
  if (!server) return []
  const action = !old ? 'create.end' : !now ? 'delete.end' : 'update'
  const { id, name, projectId, metadata, status } = server
  const flat = { tenant_id: projectId, instance_id: id, display_name: name, state: status.toLowerCase(), metadata }
  return [
    notification('nova', 'notifications.info', `compute.instance.${action}`, flat),
    notification('nova', 'versioned_notifications.info', `instance.${action}`, wrapped(server)),
  ]
}

function wrapped({ id, name, projectId, metadata, status, createdAt }: Server): object {
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
