/**
 * Notifications of clouds that start syncs: one listener a bus, shared by all objects that listen to it.
 *
 * A notice is a hint to look: it wakes the objects that it concerns and is forgotten. Losing every one costs time only,
 * and whenever a bus comes (back), its objects are woken once, because something may have been missed.
 */
import { createHash } from 'node:crypto'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { type Clock, monotonic } from '../../kube/clock.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Priority } from '../../kube/queue.ts'
import { type BusAccess, type BusListener, type BusState, listenToBus } from '../../openstack/bus.ts'
import { hostText } from '../../openstack/bus-address.ts'
import type { Bus } from '../../openstack/cloud.ts'
import { type Reading, readNotice, type Subject } from '../../openstack/notification.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { SyncSettings } from '../config.ts'
import type { CredentialSources } from '../credentials.ts'
import { type AccessDeps, busFor } from './bus-access.ts'
import { createFold } from './coalesce.ts'
import { createInterests, type Interest } from './interests.ts'

/** How an object hears of its cloud. */
export interface EventsState {
  is: BusState['is'] | 'unusable'
  message: string
  /** Milliseconds since the epoch. */
  lastEventAt?: number | undefined
  lagMs?: number | undefined
}

/** The notice that starts a sync: what it told of, when, and by which request. */
export interface NoticeHint {
  event: string
  /** When the cloud sent it, milliseconds since the epoch. */
  at?: number
  heardAt: number
  requestId?: string
}

/** What notices said since the last sync: what is kept of the cloud and may be old, and what is said to be gone. */
export interface Hints {
  noticed: boolean
  /** The first of them. */
  notice?: NoticeHint
  servers: boolean
  networks: boolean
  deletedPorts: ReadonlySet<string>
  /** The bus refuses the account: there may be a new one. */
  busRefused: boolean
}

export const noHints: Hints = {
  noticed: false,
  servers: false,
  networks: false,
  deletedPorts: new Set(),
  busRefused: false,
}

export interface Following {
  settings: SyncSettings
  /** What Contrabass tells. */
  bus: Bus | undefined
  secret: CredentialSources['secret']
  /** Asked for only where there is a bus. */
  interest: () => Interest
}

export interface CloudEvents {
  /** Listens for an object from now on; whatever goes wrong is told by `stateOf`. */
  follow(config: OpenstackConfig, following: Following): Promise<void>
  /** Undefined: no bus is known for this object. */
  stateOf(key: string): EventsState | undefined
  /** What was said since the last time. */
  take(key: string): Hints
  forget(key: string): void
  close(): Promise<void>
}

export type NoticeOutcome = 'woke' | 'unchanged' | 'unrelated' | 'other' | 'poison'

export interface EventCounts {
  notice(outcome: NoticeOutcome, lagSeconds: number | undefined): void
  bus(bus: string, connected: number): void
}

export interface CloudEventsOptions extends AccessDeps {
  enabled: boolean
  wake: (key: string, priority: Priority) => void
  counts: EventCounts
  log: Log
  clock?: Clock
  now?: () => number
}

interface Hint {
  notice: NoticeHint
  servers: boolean
  networks: boolean
  deletedPorts: Set<string>
}

type Notice = Extract<Reading, { kind: 'notice' }>

interface Listening {
  access: BusAccess
  label: string
  listener: BusListener
  users: Set<string>
  state: BusState
  lastEventAt?: number
  lagMs?: number
}

/** A broker that is back within this time was never away. */
const graceMs = 3_000
const mostDeleted = 1_000
const mostMarks = 50_000

export function createCloudEvents(options: CloudEventsOptions): CloudEvents {
  const { enabled, wake, counts, log, clock = monotonic, now = Date.now } = options
  const listening = new Map<string, Listening>()
  const busOf = new Map<string, string>()
  const troubles = new Map<string, string>()
  const hints = new Map<string, Hint>()
  const marks = new Map<string, string>()
  const interests = createInterests()
  const fold = createFold(key => wake(key, 'new'), clock)

  function hear(bus: Listening, body: unknown): void {
    const reading = readNotice(body)
    if (reading.kind === 'poison') {
      counts.notice('poison', undefined)
      log.debug('a message of the bus cannot be read', { bus: bus.label, why: reading.why })
      return
    }
    const at = now()
    bus.lastEventAt = at
    if (reading.kind === 'other') {
      counts.notice('other', undefined)
      return
    }
    const lagMs = reading.at === undefined ? undefined : Math.max(0, at - reading.at)
    if (lagMs !== undefined) bus.lagMs = lagMs
    counts.notice(heed(bus, reading, at), lagMs === undefined ? undefined : lagMs / 1_000)
  }

  function heed(bus: Listening, { event, at, requestId, subjects }: Notice, heardAt: number): NoticeOutcome {
    const notice = { event, heardAt, ...(at !== undefined && { at }), ...(requestId && { requestId }) }
    let outcome: NoticeOutcome = 'unrelated'
    for (const subject of subjects) {
      // One bus knows nothing of the objects of another one.
      const keys = [...interests.of(subject)].filter(key => bus.users.has(key))
      if (keys.length === 0) continue
      if (!isNews(subject)) {
        if (outcome === 'unrelated') outcome = 'unchanged'
        continue
      }
      outcome = 'woke'
      for (const key of keys) {
        note(key, subject, notice)
        fold.add(key)
      }
    }
    return outcome
  }

  /** Nova tells every step of a server's state; only its name and its metadata matter here. */
  function isNews(subject: Subject): boolean {
    if (subject.about !== 'server' || subject.mark === undefined) return true
    if (marks.get(subject.id) === subject.mark) return false
    if (marks.size >= mostMarks) marks.clear()
    marks.set(subject.id, subject.mark)
    return true
  }

  function note(key: string, subject: Subject, notice: NoticeHint): void {
    const hint = hints.get(key) ?? { notice, servers: false, networks: false, deletedPorts: new Set() }
    hints.set(key, hint)
    if (subject.about === 'server' && !subject.interfaces) hint.servers = true
    if (subject.about === 'subnet' || subject.about === 'network') hint.networks = true
    if (subject.about === 'port' && subject.deleted && hint.deletedPorts.size < mostDeleted)
      hint.deletedPorts.add(subject.id)
  }

  function moved(bus: Listening, state: BusState): void {
    bus.state = state
    counts.bus(bus.label, connectedTo(bus.label))
    log.info('the message bus changed', { bus: bus.label, is: state.is, said: state.message })
    const tell = () => {
      if (bus.state === state) for (const key of bus.users) wake(key, 'recheck')
    }
    if (state.is === 'connected') tell()
    else if (state.is !== 'connecting') clock.after(graceMs, tell)
  }

  function connectedTo(label: string): number {
    return [...listening.values()].filter(bus => bus.label === label && bus.state.is === 'connected').length
  }

  function open(id: string, access: BusAccess): Listening {
    const [first] = access.hosts
    const label = `${first ? hostText(first) : ''}${access.vhost === '/' ? '' : `/${access.vhost}`}`
    const bus: Listening = {
      access,
      label,
      users: new Set(),
      state: { is: 'connecting', message: 'connecting to the message bus' },
      listener: { close: async () => {} },
    }
    listening.set(id, bus)
    bus.listener = listenToBus(access, {
      log,
      onMessage: body => hear(bus, body),
      onState: state => moved(bus, state),
    })
    return bus
  }

  function join(key: string, access: BusAccess): void {
    const id = createHash('sha256').update(JSON.stringify(access)).digest('hex')
    const bus = listening.get(id) ?? open(id, access)
    bus.users.add(key)
    if (busOf.get(key) !== id) leave(key)
    busOf.set(key, id)
  }

  function leave(key: string): void {
    const id = busOf.get(key)
    const bus = id === undefined ? undefined : listening.get(id)
    busOf.delete(key)
    if (id === undefined || !bus) return
    bus.users.delete(key)
    if (bus.users.size > 0) return
    listening.delete(id)
    counts.bus(bus.label, connectedTo(bus.label))
    void bus.listener.close()
  }

  function busKept(key: string): Listening | undefined {
    return listening.get(busOf.get(key) ?? '')
  }

  return {
    async follow(config, { settings, bus, secret, interest }) {
      if (!enabled) return
      const key = keyOf(config)
      try {
        const choice = await busFor(config, settings, bus, secret, options)
        troubles.delete(key)
        if (choice && 'access' in choice) {
          interests.set(key, interest())
          join(key, choice.access)
          return
        }
        if (choice) troubles.set(key, choice.trouble)
        leave(key)
        interests.delete(key)
      } catch (error) {
        // A Secret that cannot be read now: what is listened to stays.
        log.warn('the account of the message bus was not read', { config: key, error })
        if (!busOf.has(key)) troubles.set(key, `the account of the message bus was not read: ${messageOf(error)}`)
      }
    },
    stateOf(key) {
      const trouble = troubles.get(key)
      if (trouble !== undefined) return { is: 'unusable', message: trouble }
      const bus = busKept(key)
      return bus && { ...bus.state, lastEventAt: bus.lastEventAt, lagMs: bus.lagMs }
    },
    take(key) {
      const said = hints.get(key)
      hints.delete(key)
      const busRefused = busKept(key)?.state.is === 'refused'
      return said ? { ...said, noticed: true, busRefused } : { ...noHints, busRefused }
    },
    forget(key) {
      leave(key)
      interests.delete(key)
      hints.delete(key)
      troubles.delete(key)
      fold.forget(key)
    },
    async close() {
      fold.close()
      const all = [...listening.values()]
      listening.clear()
      await Promise.all(all.map(({ listener }) => listener.close()))
    },
  }
}

/** Ports are found by polling meanwhile, so that counts as a reason to poll faster. */
export function isAway(state: EventsState | undefined): boolean {
  return state !== undefined && state.is !== 'connected' && state.is !== 'connecting'
}
