/**
 * Listens to a cloud's message bus (RabbitMQ) through its own queue, bound to the exchanges of the services.
 *
 * Declares, changes and consumes nothing of others: the shared queue `notifications.info` is left to its consumers, and a
 * missing exchange is waited for. When a session ends (broker down, queue deleted, login refused), the next one starts on
 * the next host of the list.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Channel, Connection } from 'rabbitmq-client'
import type {
  BusAccess,
  BusHost,
  BusListener,
  BusListenerOptions,
  BusState,
  MessageBuses,
  Reading,
} from '../operator/cloud.ts'
import { messageOf } from '../runtime/errors.ts'
import { backoffMs } from '../runtime/retry.ts'
import { hostText, parseBusAddresses } from './bus-address.ts'
import { maxMessageBytes, readNotification } from './notification.ts'

export const openStackBuses: MessageBuses = { parseAddresses: parseBusAddresses, listen: listenToBus }

/** Unacknowledged messages. Each is handled when it arrives. */
const prefetch = 500
const ackEvery = prefetch / 2
const ackMs = 20
/** A full queue drops its oldest messages. A named queue without consumers is deleted after this time. */
const maxQueued = 100_000
const queueExpiresMs = 30 * 60_000
const heartbeatSeconds = 10
const connectTimeoutMs = 10_000
const firstPauseMs = 200
const maxPauseMs = 10_000
/** After a session of this length, the backoff starts again. */
const healthyMs = 10_000
/** An exchange that was deleted and recreated has lost its bindings, so they are declared again regularly. */
const rebindMs = 30_000
const rebindSoonMs = 2_000
const closeTimeoutMs = 500

export function listenToBus(access: BusAccess, options: BusListenerOptions): BusListener {
  const { onState, log } = options
  const stop = new AbortController()
  let last: BusState | undefined

  /** Each attempt may fail with another message. The first one stays. */
  function report(update: BusState): void {
    const { state, message } = update
    const isKnown = state === last?.state && (message === last.message || ['unreachable', 'refused'].includes(state))
    if (isKnown || stop.signal.aborted) return
    last = update
    onState(update)
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      const host = access.hosts[failures % access.hosts.length]
      if (!host) return
      const started = performance.now()
      try {
        await session(access, host, { ...options, report, signal: stop.signal })
      } catch (error) {
        if (stop.signal.aborted) return
        failures = performance.now() - started > healthyMs ? 1 : failures + 1
        const state = isRefused(error) ? 'refused' : 'unreachable'
        const message = `${hostText(host)}: ${reasonOf(error)}`
        const logFailure = failures === 1 ? log.warn : log.debug
        logFailure('message bus unreachable', { bus: hostText(host), error: message, failures })
        // An unreachable host is reported only after all hosts of the list have failed.
        if (state === 'refused' || failures >= access.hosts.length) report({ state, message })
        const rounds = Math.floor((failures - 1) / access.hosts.length)
        const pause = backoffMs(rounds + 1, { firstMs: firstPauseMs, maxMs: maxPauseMs })
        await sleep(pause, undefined, { signal: stop.signal, ref: false }).catch(() => {})
      }
    }
  }

  report({ state: 'connecting', message: 'connecting to the message bus' })
  const ended = run()
  return {
    async close() {
      stop.abort()
      await ended
    },
  }
}

interface SessionOptions extends BusListenerOptions {
  report: (state: BusState) => void
  signal: AbortSignal
}

/** Connects and listens. Throws when the session ends. */
async function session(access: BusAccess, host: BusHost, options: SessionOptions): Promise<void> {
  const { signal, report } = options
  const over = Promise.withResolvers<never>()
  const ended = new AbortController()
  over.promise.catch(() => {
    ended.abort()
    // The library would reconnect without declaring the queue again.
    if (!signal.aborted) connection.unsafeDestroy()
  })
  const leave = () => {
    over.reject(signal.reason)
    // A broker that hangs answers neither the close nor earlier requests.
    setTimeout(() => connection.unsafeDestroy(), closeTimeoutMs).unref()
  }
  signal.addEventListener('abort', leave, { once: true })
  const connection = new Connection({
    hostname: host.hostname,
    port: host.port,
    username: access.user,
    password: access.password,
    vhost: access.vhost,
    connectionName: 'multinic-operator',
    connectionTimeout: connectTimeoutMs,
    acquireTimeout: connectTimeoutMs,
    heartbeat: heartbeatSeconds,
    ...(host.tls && {
      tls: { servername: host.hostname, ...(access.ca && { ca: access.ca }) },
    }),
  })
  connection.on('error', over.reject)
  boundFrames(connection)
  let channel: Channel | undefined
  try {
    const until = <T>(work: Promise<T>) => Promise.race([work, over.promise])
    channel = await until(connection.acquire({ emitErrorsFromChannel: true }))
    boundMessages(channel)
    channel.on('error', over.reject)
    channel.on('close', () => over.reject(new Error('the broker closed the channel')))
    channel.on('basic.cancel', () => over.reject(new Error('the queue was deleted')))
    const queue = await until(declareQueue(channel, access))
    await until(channel.basicQos({ prefetchCount: prefetch }))
    await until(consume(channel, queue, options.onMessage))
    for (;;) {
      const { bound, missing } = await bindAll(connection, queue)
      if (ended.signal.aborted) await over.promise
      report(
        bound.length > 0
          ? {
              state: 'connected',
              message: `listening on ${hostText(host)} to ${bound.join(', ')}${missingText(missing)}`,
            }
          : {
              state: 'waiting',
              message: `${hostText(host)}: no exchange ${exchanges.join(', ')} that the account may read`,
            },
      )
      const pause = bound.length > 0 ? rebindMs : rebindSoonMs
      await sleep(pause, undefined, { ref: false, signal: ended.signal }).catch(() => over.promise)
    }
  } finally {
    signal.removeEventListener('abort', leave)
    if (signal.aborted)
      await Promise.race([close(connection, channel), sleep(closeTimeoutMs, undefined, { ref: false })])
    connection.unsafeDestroy()
  }
}

/** The client negotiates frames of 8 KiB. */
const maxFrameBytes = 1024 * 1024

/**
 * The library reads as many bytes as a frame claims to have. Above 1 GiB Node throws inside a socket listener, where
 * nothing catches it: a web server at the address of a bus would end the operator.
 */
function boundFrames(connection: Connection): void {
  const { _socket: socket } = connection as unknown as { _socket: Socket }
  const read = socket.read.bind(socket)
  socket.read = size => {
    if (size === undefined || size <= maxFrameBytes) return read(size)
    socket.destroy(new Error('the server is not a message bus'))
    return null
  }
}

/** RabbitMQ itself allows 512 MiB at most. */
const maxSkippedBytes = 512 * 1024 * 1024

interface ContentReader {
  _onHeader(frame: { bodySize: number; fields: { contentType?: string } }): void
  _onBody(frame?: { payload: Buffer }): void
}

/**
 * The library collects a message of any size, and parses JSON of any form. A message that is too long arrives without its
 * body: to end the session would not remove it from a queue that has a name.
 */
function boundMessages(channel: Channel): void {
  const reader = channel as unknown as ContentReader
  const [onHeader, onBody] = [reader._onHeader.bind(channel), reader._onBody.bind(channel)]
  let isTooLong = false
  reader._onHeader = frame => {
    if (frame.bodySize > maxSkippedBytes) throw new Error(`a message of ${frame.bodySize} bytes`)
    isTooLong = frame.bodySize > maxMessageBytes
    delete frame.fields.contentType
    onHeader(frame)
  }
  reader._onBody = frame => onBody(isTooLong && frame ? { ...frame, payload: Buffer.alloc(0) } : frame)
}

async function close(connection: Connection, channel: Channel | undefined): Promise<void> {
  await channel?.close()
  if (connection.ready) await connection.close()
}

/** The name is random: a broker that has not noticed the end of the last session still has its exclusive queue. */
async function declareQueue(channel: Channel, { queue }: BusAccess): Promise<string> {
  const limit = { 'x-max-length': maxQueued, 'x-overflow': 'drop-head' } as const
  const declared = await channel.queueDeclare(
    queue
      ? { queue, durable: true, arguments: { ...limit, 'x-expires': queueExpiresMs } }
      : {
          queue: `multinic-operator.${randomBytes(6).toString('hex')}`,
          exclusive: true,
          autoDelete: true,
          arguments: limit,
        },
  )
  return declared.queue
}

/** Acknowledges in batches: one frame for hundreds of messages. */
async function consume(channel: Channel, queue: string, onMessage: (reading: Reading) => void): Promise<void> {
  let waiting = 0
  let newest = 0
  let timer: NodeJS.Timeout | undefined

  function acknowledge(): void {
    clearTimeout(timer)
    timer = undefined
    waiting = 0
    if (channel.active) channel.basicAck({ deliveryTag: newest, multiple: true })
  }

  await channel.basicConsume({ queue }, message => {
    onMessage(readNotification(message.body))
    newest = message.deliveryTag
    waiting++
    if (waiting >= ackEvery) acknowledge()
    else timer ??= setTimeout(acknowledge, ackMs)
  })
}

/** Of oslo.messaging: named after the service, or the default of `control_exchange`. */
const exchanges = ['neutron', 'nova', 'openstack']
/** Without the priority: `notifications` means `notifications.info`, `notifications.error` and so on. */
const topics = ['notifications', 'versioned_notifications']

/** A refused binding closes its channel, so each exchange gets its own. */
async function bindAll(connection: Connection, queue: string): Promise<{ bound: string[]; missing: string[] }> {
  const bound: string[] = []
  const missing: string[] = []
  for (const exchange of exchanges) {
    const channel = await connection.acquire({ emitErrorsFromChannel: true })
    channel.on('error', () => {})
    try {
      for (const topic of topics) await channel.queueBind({ exchange, queue, routingKey: `${topic}.*` })
      bound.push(exchange)
    } catch (error) {
      if (!['NOT_FOUND', 'ACCESS_REFUSED'].includes(codeOf(error))) throw error
      missing.push(exchange)
    } finally {
      await channel.close()
    }
  }
  return { bound, missing }
}

function isRefused(error: unknown): boolean {
  return codeOf(error) === 'ACCESS_REFUSED'
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

/** The error of a name with several addresses has no message. The error of a refused login starts with `undefined:`. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(/^undefined: /, '') || codeOf(error) || 'unreachable'
}

function missingText(missing: readonly string[]): string {
  return missing.length > 0 ? ` (missing or not allowed: ${missing.join(', ')})` : ''
}
