/**
 * What notifications reported about each object since its last sync, and when they start the next one.
 *
 * A notification that names a port of a server needs only the ports of that server, so many of them may start syncs. All
 * others need a complete read and are limited more. Each kind is kept until it has passed its own limit, so that a flood of
 * one kind does not lift the limit of the other.
 */
import type { Clock } from '../../kube/clock.ts'
import type { Subject } from '../cloud.ts'
import { type Coalescer, createCoalescer, type Limits, targetedReads } from '../limits/coalesce.ts'

/** The notification that started a sync. */
export interface NotificationHint {
  event: string
  /** When the cloud sent it, in milliseconds since 1970. */
  sentAt?: number
  receivedAt: number
  requestId?: string
}

/** Ports, and servers whose ports may have changed. */
export interface ChangedPorts {
  ports: ReadonlySet<string>
  servers: ReadonlySet<string>
}

/** What notifications reported since the last sync: which cached data may be stale, and which ports were deleted. */
export interface Hints {
  notified: boolean
  /** The first notification. */
  notification?: NotificationHint
  servers: boolean
  networks: boolean
  deletedPorts: ReadonlySet<string>
  /** Nothing else was reported as changed. Undefined: read everything. */
  changed?: ChangedPorts
  /** The bus refuses the account. There may be a new one. */
  busRefused: boolean
}

export const noHints: Hints = {
  notified: false,
  servers: false,
  networks: false,
  deletedPorts: new Set(),
  busRefused: false,
}

export interface PendingHints {
  add(key: string, subject: Subject, notification: NotificationHint): void
  /** Returns the hints that have passed since the last call. */
  take(key: string): Hints
  forget(key: string): void
  close(): void
}

export interface PendingHintsOptions {
  wake: (key: string) => void
  clock: Clock
  /** Whether the next sync of the object can read only the ports that a notification names. */
  canTarget: (key: string) => boolean
}

interface Collected {
  notification: NotificationHint
  servers: boolean
  networks: boolean
  deletedPorts: Set<string>
  ports: Set<string>
  portServers: Set<string>
}

interface Lane {
  coalescer: Coalescer
  collected: Map<string, Collected>
  passed: Set<string>
}

const maxDeletedPorts = 1_000
/** For more, a complete read costs less. */
const maxChanged = 100

export function createPendingHints({ wake, clock, canTarget }: PendingHintsOptions): PendingHints {
  const targeted = createLane(targetedReads)
  const complete = createLane()
  const lanes = [targeted, complete]

  function createLane(limits?: Limits): Lane {
    const passed = new Set<string>()
    const pass = (key: string) => {
      passed.add(key)
      wake(key)
    }
    return { coalescer: createCoalescer(pass, clock, limits), collected: new Map(), passed }
  }

  function takeFrom({ coalescer, collected, passed }: Lane, key: string): Collected | undefined {
    if (!passed.delete(key)) return undefined
    const found = collected.get(key)
    collected.delete(key)
    // Those that were added since are in it.
    coalescer.cancel(key)
    return found
  }

  return {
    add(key, subject, notification) {
      const lane = namesServerOfPort(subject) && canTarget(key) ? targeted : complete
      const collected = lane.collected.get(key) ?? emptyFrom(notification)
      lane.collected.set(key, collected)
      collect(collected, subject)
      lane.coalescer.add(key)
    },
    take: key => hintsFrom(lanes.flatMap(lane => takeFrom(lane, key) ?? [])),
    forget(key) {
      for (const { coalescer, collected, passed } of lanes) {
        coalescer.forget(key)
        collected.delete(key)
        passed.delete(key)
      }
    },
    close() {
      for (const { coalescer } of lanes) coalescer.close()
    },
  }
}

/** The notifications of a detach and of a deletion need a complete read: so does every removal. */
function namesServerOfPort(subject: Subject): boolean {
  if (subject.about === 'port') return subject.deviceId !== '' && !subject.deleted
  return subject.about === 'server' && subject.interfaces
}

function emptyFrom(notification: NotificationHint): Collected {
  return {
    notification,
    servers: false,
    networks: false,
    deletedPorts: new Set(),
    ports: new Set(),
    portServers: new Set(),
  }
}

function collect(collected: Collected, subject: Subject): void {
  const { deletedPorts, ports, portServers } = collected
  if (subject.about === 'subnet' || subject.about === 'network') collected.networks = true
  else if (subject.about === 'server' && !subject.interfaces) collected.servers = true
  else if (subject.about === 'server') addUpTo(maxChanged + 1, portServers, subject.id)
  else {
    if (subject.deleted) addUpTo(maxDeletedPorts, deletedPorts, subject.id)
    addUpTo(maxChanged + 1, ports, subject.id)
    if (subject.deviceId !== '') addUpTo(maxChanged + 1, portServers, subject.deviceId)
  }
}

function addUpTo(max: number, ids: Set<string>, id: string): void {
  if (ids.size < max) ids.add(id)
}

function hintsFrom(all: readonly Collected[]): Hints {
  const [first] = all.map(({ notification }) => notification).toSorted((a, b) => a.receivedAt - b.receivedAt)
  if (!first) return noHints
  const union = (of: (one: Collected) => ReadonlySet<string>) => new Set(all.flatMap(one => [...of(one)]))
  const hints = {
    notified: true,
    notification: first,
    servers: all.some(({ servers }) => servers),
    networks: all.some(({ networks }) => networks),
    deletedPorts: union(one => one.deletedPorts),
    busRefused: false,
  }
  const changed = { ports: union(one => one.ports), servers: union(one => one.portServers) }
  const isOnlyPorts = !hints.servers && !hints.networks && hints.deletedPorts.size === 0
  const isFew = changed.ports.size <= maxChanged && changed.servers.size <= maxChanged
  return isOnlyPorts && isFew ? { ...hints, changed } : hints
}
