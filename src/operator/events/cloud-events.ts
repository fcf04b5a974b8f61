/**
 * Starts syncs on notifications of the clouds. One listener per bus, shared by all objects that use it.
 *
 * A notification is only a hint: it wakes the objects that it concerns and is dropped. A lost one costs only time. Every
 * time a bus connects, its objects are woken once, because notifications may have been lost.
 */
import { createHash } from 'node:crypto'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { type Clock, monotonic } from '../../kube/clock.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Priority } from '../../kube/queue.ts'
import { messageOf } from '../../runtime/errors.ts'
import { backoffMs } from '../../runtime/retry.ts'
import type { Log } from '../../telemetry/log.ts'
import type {
  BusAccess,
  BusListener,
  BusState,
  MessageBus,
  MessageBuses,
  Notification,
  Reading,
  Subject,
} from '../cloud.ts'
import type { CredentialSources } from '../clouds/credentials.ts'
import type { SyncSettings } from '../config.ts'
import { type AccessDeps, busFor } from './bus-access.ts'
import { createPendingHints, type Hints, type PendingHintsOptions } from './hints.ts'
import { createInterests, type Interest } from './interests.ts'

/** The state of an object's message bus. */
export interface EventsState {
  state: BusState['state'] | 'misconfigured'
  message: string
  /** Milliseconds since 1970. */
  lastEventAt?: number | undefined
  lagMs?: number | undefined
}

export interface FollowOptions {
  settings: SyncSettings
  /** The bus that Contrabass names. */
  bus: MessageBus | undefined
  secret: CredentialSources['secret']
  /** Called only if there is a bus. */
  interest: () => Interest
}

export interface CloudEvents {
  /** Listens for an object from now on. `stateOf` reports errors. */
  follow(config: OpenstackConfig, options: FollowOptions): Promise<void>
  /** Undefined: no bus is configured for this object. */
  stateOf(key: string): EventsState | undefined
  /** Returns the hints since the last call. */
  take(key: string): Hints
  forget(key: string): void
  close(): Promise<void>
}

export type NotificationOutcome = 'woke' | 'unchanged' | 'unrelated' | 'other' | 'poison'

export interface EventMetrics {
  notification(outcome: NotificationOutcome, lagSeconds: number | undefined): void
  /** Undefined: no object uses the bus any more. */
  bus(bus: string, connected: number | undefined): void
}

export interface CloudEventsOptions extends AccessDeps, Pick<PendingHintsOptions, 'canTarget'> {
  enabled: boolean
  buses: MessageBuses
  wake: (key: string, priority: Priority) => void
  metrics: EventMetrics
  log: Log
  clock?: Clock
  now?: () => number
}

interface Connection {
  access: BusAccess
  listener: BusListener
  users: Set<string>
  state: BusState
  /** Of the last update of each server. Another bus may be that of another tenant. */
  fingerprints: Map<string, string>
  lastEventAt?: number
  lagMs?: number
}

/** An interruption shorter than this is not reported. */
const graceMs = 3_000
/** Of a sync that reads the account again. A random half of a pause is dropped. */
const refusedBackoff = { firstMs: 10_000, maxMs: 60_000 }
const maxFingerprints = 50_000

export function createCloudEvents(options: CloudEventsOptions): CloudEvents {
  const { enabled, buses, wake, canTarget, metrics, log, clock = monotonic, now = Date.now } = options
  const connections = new Map<string, Connection>()
  const connectionOf = new Map<string, string>()
  const problems = new Map<string, string>()
  const interests = createInterests()
  const hints = createPendingHints({ wake: key => wake(key, 'new'), clock, canTarget })

  function receive(bus: Connection, reading: Reading): void {
    if (reading.kind === 'poison') {
      metrics.notification('poison', undefined)
      log.debug('unreadable message from the message bus', { bus: bus.access.label, why: reading.why })
      return
    }
    const at = now()
    bus.lastEventAt = at
    if (reading.kind === 'other') {
      metrics.notification('other', undefined)
      return
    }
    const lagMs = reading.sentAt === undefined ? undefined : Math.max(0, at - reading.sentAt)
    if (lagMs !== undefined) bus.lagMs = lagMs
    metrics.notification(dispatch(bus, reading, at), lagMs === undefined ? undefined : lagMs / 1_000)
  }

  function dispatch(bus: Connection, notification: Notification, receivedAt: number): NotificationOutcome {
    const { event, sentAt, requestId, subjects } = notification
    const hint = { event, receivedAt, ...(sentAt !== undefined && { sentAt }), ...(requestId && { requestId }) }
    let outcome: NotificationOutcome = 'unrelated'
    for (const subject of subjects) {
      // Ids of different clouds may be equal: only objects that use this bus are concerned.
      const keys = [...interests.of(subject)].filter(key => bus.users.has(key))
      if (keys.length === 0) continue
      if (!isChange(bus, subject)) {
        if (outcome === 'unrelated') outcome = 'unchanged'
        continue
      }
      outcome = 'woke'
      for (const key of keys) hints.add(key, subject, hint)
    }
    return outcome
  }

  /** Nova reports every step of a server's state. Only its name and its metadata matter here. */
  function isChange({ fingerprints }: Connection, subject: Subject): boolean {
    if (subject.about !== 'server' || subject.fingerprint === undefined) return true
    if (fingerprints.get(subject.id) === subject.fingerprint) return false
    if (fingerprints.size >= maxFingerprints) fingerprints.clear()
    fingerprints.set(subject.id, subject.fingerprint)
    return true
  }

  function setState(bus: Connection, state: BusState): void {
    bus.state = state
    metrics.bus(bus.access.label, countConnected(bus.access.label))
    log.info('message bus state changed', { bus: bus.access.label, state: state.state, detail: state.message })
    let refusals = 0
    const wakeUsers = () => {
      if (bus.state !== state || bus.users.size === 0) return
      for (const key of bus.users) wake(key, 'recheck')
      // The new account may not be where it is read from yet: the broker and Contrabass are changed one after the other.
      if (state.state === 'refused') clock.after(backoffMs(++refusals, refusedBackoff), wakeUsers)
    }
    if (state.state === 'connected') wakeUsers()
    else if (state.state !== 'connecting') clock.after(graceMs, wakeUsers)
  }

  /** Undefined without a connection, also one that is lost. */
  function countConnected(label: string): number | undefined {
    const all = [...connections.values()].filter(({ access }) => access.label === label)
    return all.length > 0 ? all.filter(bus => bus.state.state === 'connected').length : undefined
  }

  function open(id: string, access: BusAccess): Connection {
    const bus: Connection = {
      access,
      users: new Set(),
      fingerprints: new Map(),
      state: { state: 'connecting', message: 'connecting to the message bus' },
      listener: { close: async () => {} },
    }
    connections.set(id, bus)
    bus.listener = buses.listen(access, {
      log,
      onMessage: reading => receive(bus, reading),
      onState: state => setState(bus, state),
    })
    return bus
  }

  function join(key: string, access: BusAccess): void {
    const id = createHash('sha256').update(JSON.stringify(access)).digest('hex')
    const bus = connections.get(id) ?? open(id, access)
    bus.users.add(key)
    if (connectionOf.get(key) !== id) leave(key)
    connectionOf.set(key, id)
  }

  function leave(key: string): void {
    const id = connectionOf.get(key)
    const bus = id === undefined ? undefined : connections.get(id)
    connectionOf.delete(key)
    if (id === undefined || !bus) return
    bus.users.delete(key)
    if (bus.users.size > 0) return
    connections.delete(id)
    metrics.bus(bus.access.label, countConnected(bus.access.label))
    void bus.listener.close()
  }

  function busOf(key: string): Connection | undefined {
    return connections.get(connectionOf.get(key) ?? '')
  }

  return {
    async follow(config, { settings, bus, secret, interest }) {
      if (!enabled) return
      const key = keyOf(config)
      try {
        const choice = await busFor(config, settings, bus, secret, options)
        problems.delete(key)
        if (choice && 'access' in choice) {
          interests.set(key, interest())
          join(key, choice.access)
          return
        }
        if (choice) problems.set(key, choice.problem)
        leave(key)
        interests.delete(key)
      } catch (error) {
        // The Secret cannot be read now: an open connection stays open.
        log.warn('cannot read the account of the message bus', { config: key, error })
        if (!connectionOf.has(key)) problems.set(key, `cannot read the account of the message bus: ${messageOf(error)}`)
      }
    },
    stateOf(key) {
      const problem = problems.get(key)
      if (problem !== undefined) return { state: 'misconfigured', message: problem }
      const bus = busOf(key)
      return bus && { ...shownState(bus), lastEventAt: bus.lastEventAt, lagMs: bus.lagMs }
    },
    take: key => ({ ...hints.take(key), busRefused: busOf(key)?.state.state === 'refused' }),
    forget(key) {
      leave(key)
      interests.delete(key)
      hints.forget(key)
      problems.delete(key)
    },
    async close() {
      hints.close()
      const all = [...connections.values()]
      connections.clear()
      await Promise.all(all.map(({ listener }) => listener.close()))
    },
  }
}

function shownState({ access, state }: Connection): BusState {
  if (!access.isOfTenant || state.state !== 'unreachable') return state
  return { state: 'unreachable', message: `${access.label}: no usable answer; the log of the operator has the details` }
}

/** Without notifications, ports are found by polling: the operator polls at the fast interval. */
export function isUnavailable(events: EventsState | undefined): boolean {
  return events !== undefined && events.state !== 'connected' && events.state !== 'connecting'
}
