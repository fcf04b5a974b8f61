/**
 * Listens to a cloud's message bus (RabbitMQ) through a queue of our own, bound to the exchanges of the services.
 *
 * Nothing of others is declared, changed or consumed: the shared queue `notifications.info` stays its listeners', and an
 * exchange that is not there yet is waited for. A session that ends for whatever reason (broker gone, queue deleted, login
 * refused) is followed by another one, on the next host of the list.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Channel, Connection } from 'rabbitmq-client'
import { messageOf } from '../runtime/errors.ts'
import { backoffMs } from '../runtime/retry.ts'
import type { Log } from '../telemetry/log.ts'
import { type BusHost, hostText } from './bus-address.ts'

export interface BusAccess {
  hosts: readonly BusHost[]
  vhost: string
  user: string
  password: string
  /** Trusted instead of those of the system. */
  ca?: string | undefined
  insecureTls: boolean
  exchanges: readonly string[]
  /** Without the priority: `notifications` stands for `notifications.info`, `notifications.error` and so on. */
  topics: readonly string[]
  /** A queue that outlives us for a while; without a name it goes with the connection. */
  queue?: string | undefined
}

export interface BusState {
  /** connecting: not tried yet; waiting: none of the exchanges is there; refused: the account is not let in. */
  is: 'connecting' | 'connected' | 'waiting' | 'away' | 'refused'
  message: string
}

export interface BusListenerOptions {
  onMessage: (body: unknown) => void
  onState: (state: BusState) => void
  log: Log
  /** Test hook: how long the first pause is. */
  firstPauseMs?: number
}

export interface BusListener {
  close(): Promise<void>
}

/** So many messages may be on the way to us; every one is handled in the moment it arrives. */
const prefetch = 500
const ackEvery = prefetch / 2
const ackMs = 20
/** What nobody fetched is dropped from the head, and a named queue that nobody listens to goes after this time. */
const mostQueued = 100_000
const queueLivesMs = 30 * 60_000
const heartbeatSeconds = 10
const connectMs = 10_000
const longestPauseMs = 10_000
/** A session that lasted so long was a good one. */
const healthyMs = 10_000
/** Bindings are made again now and then: an exchange that was deleted and made anew has forgotten them. */
const bindAgainMs = 30_000
const bindSoonMs = 2_000
const farewellMs = 500

export function listenToBus(access: BusAccess, options: BusListenerOptions): BusListener {
  const { onState, firstPauseMs = 200, log } = options
  const life = new AbortController()
  let last: BusState | undefined

  /** Every attempt fails in words of its own: the first ones stay. */
  function tell(state: BusState): void {
    const isOld = state.is === last?.is && (state.message === last.message || ['away', 'refused'].includes(state.is))
    if (isOld || life.signal.aborted) return
    last = state
    onState(state)
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!life.signal.aborted) {
      const host = access.hosts[failures % access.hosts.length]
      if (!host) return
      const started = performance.now()
      try {
        await session(access, host, { ...options, tell, signal: life.signal })
      } catch (error) {
        if (life.signal.aborted) return
        failures = performance.now() - started > healthyMs ? 1 : failures + 1
        const is = isRefused(error) ? 'refused' : 'away'
        const message = `${hostText(host)}: ${reasonOf(error)}`
        const say = failures === 1 ? log.warn : log.debug
        say('the message bus is away', { bus: hostText(host), error: message, failures })
        // Of a list the next host is tried before anybody is told.
        if (is === 'refused' || failures >= access.hosts.length) tell({ is, message })
        const rounds = Math.floor((failures - 1) / access.hosts.length)
        const pause = backoffMs(rounds + 1, { firstMs: firstPauseMs, maxMs: longestPauseMs })
        await sleep(pause, undefined, { signal: life.signal, ref: false }).catch(() => {})
      }
    }
  }

  tell({ is: 'connecting', message: 'connecting to the message bus' })
  const ended = run()
  return {
    async close() {
      life.abort()
      await ended
    },
  }
}

interface SessionOptions extends BusListenerOptions {
  tell: (state: BusState) => void
  signal: AbortSignal
}

/** Connects, listens, and throws when it is over. */
async function session(access: BusAccess, host: BusHost, options: SessionOptions): Promise<void> {
  const { signal, tell } = options
  const over = Promise.withResolvers<never>()
  const ended = new AbortController()
  over.promise.catch(() => {
    ended.abort()
    // It would connect again by itself, and the queue would not be there.
    if (!signal.aborted) connection.unsafeDestroy()
  })
  const leave = () => {
    over.reject(signal.reason)
    // A broker that hangs answers no farewell, nor what it was asked before.
    setTimeout(() => connection.unsafeDestroy(), farewellMs).unref()
  }
  signal.addEventListener('abort', leave, { once: true })
  const connection = new Connection({
    hostname: host.hostname,
    port: host.port,
    username: access.user,
    password: access.password,
    vhost: access.vhost,
    connectionName: 'multinic-operator',
    connectionTimeout: connectMs,
    acquireTimeout: connectMs,
    heartbeat: heartbeatSeconds,
    ...(host.tls && {
      tls: { servername: host.hostname, rejectUnauthorized: !access.insecureTls, ...(access.ca && { ca: access.ca }) },
    }),
  })
  connection.on('error', over.reject)
  boundFrames(connection)
  let channel: Channel | undefined
  try {
    const until = <T>(work: Promise<T>) => Promise.race([work, over.promise])
    channel = await until(connection.acquire({ emitErrorsFromChannel: true }))
    channel.on('error', over.reject)
    channel.on('close', () => over.reject(new Error('the broker closed the channel')))
    channel.on('basic.cancel', () => over.reject(new Error('the queue was deleted')))
    const queue = await until(declareQueue(channel, access))
    await until(channel.basicQos({ prefetchCount: prefetch }))
    await until(consume(channel, queue, options.onMessage))
    for (;;) {
      const { bound, missing } = await bindAll(connection, queue, access)
      if (ended.signal.aborted) await over.promise
      tell(
        bound.length > 0
          ? { is: 'connected', message: `listening on ${hostText(host)} to ${listed(bound)}${notThere(missing)}` }
          : {
              is: 'waiting',
              message: `${hostText(host)} has no exchange ${listed(access.exchanges)} that may be read`,
            },
      )
      const pause = bound.length > 0 ? bindAgainMs : bindSoonMs
      await sleep(pause, undefined, { ref: false, signal: ended.signal }).catch(() => over.promise)
    }
  } finally {
    signal.removeEventListener('abort', leave)
    if (signal.aborted)
      await Promise.race([farewell(connection, channel), sleep(farewellMs, undefined, { ref: false })])
    connection.unsafeDestroy()
  }
}

/** We ask for frames of 8 KiB. */
const longestFrame = 1024 * 1024

/**
 * The library reads as many bytes as a frame claims to have. Of more than a GiB Node throws, and that in a listener of the
 * socket, where nobody catches it: a web server at the address of a bus would end the operator.
 */
function boundFrames(connection: Connection): void {
  const { _socket: socket } = connection as unknown as { _socket: Socket }
  const read = socket.read.bind(socket)
  socket.read = size => {
    if (size === undefined || size <= longestFrame) return read(size)
    socket.destroy(new Error('what answers there is no message bus'))
    return null
  }
}

async function farewell(connection: Connection, channel: Channel | undefined): Promise<void> {
  await channel?.close()
  if (connection.ready) await connection.close()
}

/** Random names, because a broker that has not missed us yet still holds the one of the session before. */
async function declareQueue(channel: Channel, { queue }: BusAccess): Promise<string> {
  const limit = { 'x-max-length': mostQueued, 'x-overflow': 'drop-head' } as const
  const declared = await channel.queueDeclare(
    queue
      ? { queue, durable: true, arguments: { ...limit, 'x-expires': queueLivesMs } }
      : {
          queue: `multinic-operator.${randomBytes(6).toString('hex')}`,
          exclusive: true,
          autoDelete: true,
          arguments: limit,
        },
  )
  return declared.queue
}

/** Acknowledged in batches: one frame for hundreds of messages. */
async function consume(channel: Channel, queue: string, onMessage: (body: unknown) => void): Promise<void> {
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
    onMessage(message.body)
    newest = message.deliveryTag
    waiting++
    if (waiting >= ackEvery) acknowledge()
    else timer ??= setTimeout(acknowledge, ackMs)
  })
}

/** A refused binding ends its channel, so each exchange gets one of its own. */
async function bindAll(
  connection: Connection,
  queue: string,
  { exchanges, topics }: BusAccess,
): Promise<{ bound: string[]; missing: string[] }> {
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

/** A refused connection to a name with several addresses has no message of its own; a refused login one with a false start. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(/^undefined: /, '') || codeOf(error) || 'not reached'
}

function listed(words: readonly string[]): string {
  return words.join(', ')
}

function notThere(missing: readonly string[]): string {
  return missing.length > 0 ? ` (not there or not allowed: ${listed(missing)})` : ''
}
