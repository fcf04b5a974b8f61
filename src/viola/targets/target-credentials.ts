/**
 * How each target is reached at the moment. Its files and Secrets are looked at again when they may have changed; while the
 * new ones cannot be used, the way before stays in force, and that is said.
 */
import { createHash } from 'node:crypto'
import type { ClusterAccess } from '../../kube/config.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Access, Route } from './routing.ts'

export interface Door {
  /** The same for two doors that lead to one cluster and namespace in the same way. */
  key: string
  namespace: string
  access: ClusterAccess
}

export interface Doors {
  /** Throws `Unroutable` while there has never been a way. */
  to(name: string, route: Route): Promise<Door>
  /** Where the last `to` led. */
  known(name: string): Door | undefined
  /** Why the newest files or Secret of a target cannot be used. */
  problem(name: string): string | undefined
  leadsTo(key: string): boolean
  /** Forgets all other targets. */
  keep(names: ReadonlySet<string>): void
}

/** The provider is known, its cluster cannot be spoken to as the routing says. */
export class Unroutable extends Error {}

export interface DoorsOptions {
  log: Log
  /** Reads the credentials; fails with what is wrong with them. */
  read(access: Access): Promise<ClusterAccess>
  /** Changes with the files that are read. */
  markOf(access: Access): Promise<string>
  /** How old a good look may be though the mark is the same: a kubeconfig may name files of its own. */
  freshMs: number
  /** Another way is open than before. */
  onChange(): void
  now?: () => number
}

interface Look {
  address: string
  mark: string
  at: number
  good: boolean
}

/** A token may rotate without the cluster being opened anew. */
interface Token {
  newest?: ClusterAccess['token']
  last?: string
}

export function openDoors({
  log,
  read,
  markOf,
  freshMs,
  onChange,
  now = () => performance.now(),
}: DoorsOptions): Doors {
  const doors = new Map<string, Door>()
  const looks = new Map<string, Look>()
  const problems = new Map<string, string>()
  const tokens = new Map<string, Token>()
  const looking = new Map<string, Promise<Door>>()
  const following = new Map<string, Promise<Door>>()
  const leadsTo = (key: string) => [...doors.values()].some(door => door.key === key)

  async function look(name: string, access: Access, namespace: string): Promise<Door> {
    // Before the reading: what changes meanwhile is looked at again.
    const mark = await markOf(access)
    const done = (good: boolean) => looks.set(name, { address: addressOf(access, namespace), mark, at: now(), good })
    try {
      const found = await read(access)
      done(true)
      return enter(name, doorTo(access, namespace, found), found.token)
    } catch (error) {
      done(false)
      return refused(name, error)
    }
  }

  function enter(name: string, door: Door, newest: ClusterAccess['token']): Door {
    const token: Token = tokens.get(door.key) ?? {}
    token.newest = newest
    tokens.set(door.key, token)
    if (problems.delete(name)) log.info('credentials can be used again', { target: name })
    const before = doors.get(name)
    if (before?.key === door.key) return before
    const entered = { ...door, access: { ...door.access, ...(newest && { token: () => tokenOf(token) }) } }
    doors.set(name, entered)
    settle()
    return entered
  }

  function refused(name: string, error: unknown): Door {
    const message = messageOf(error)
    const before = doors.get(name)
    const problem = before ? `${message}; the credentials before stay in force` : message
    if (problems.get(name) !== problem) log.error('credentials cannot be used', { target: name, error })
    problems.set(name, problem)
    if (!before) throw new Unroutable(message)
    return before
  }

  function settle(): void {
    for (const key of tokens.keys()) if (!leadsTo(key)) tokens.delete(key)
    onChange()
  }

  /** A look that is under way may have missed what the caller knows of: another one follows it, one for all who wait. */
  function lookAgain(name: string, access: Access, namespace: string): Promise<Door> {
    const id = `${name} ${addressOf(access, namespace)}`
    const underWay = looking.get(id)
    if (!underWay) {
      const started = look(name, access, namespace).finally(() => looking.delete(id))
      looking.set(id, started)
      return started
    }
    const next = () => {
      following.delete(id)
      return lookAgain(name, access, namespace)
    }
    const follower = following.get(id) ?? underWay.then(next, next)
    following.set(id, follower)
    return follower
  }

  return {
    async to(name, { access, namespace, unusable }) {
      if (!access) throw new Unroutable(unusable ?? 'the target names no cluster')
      const door = doors.get(name)
      const last = looks.get(name)
      const isSame = door !== undefined && last?.address === addressOf(access, namespace)
      const isFresh = last !== undefined && now() - last.at < freshMs
      if (access.by === 'secret') {
        if (!isSame) return lookAgain(name, access, namespace)
        // The cluster that holds the Secret may be away, and nobody is to wait for that.
        if (!isFresh) lookAgain(name, access, namespace).catch(() => {})
        return door
      }
      const isGood = isSame && isFresh && last?.good && last.mark === (await markOf(access))
      return isGood ? door : lookAgain(name, access, namespace)
    },
    known: name => doors.get(name),
    problem: name => problems.get(name),
    leadsTo,
    keep(names) {
      for (const held of [doors, looks, problems])
        for (const name of held.keys()) if (!names.has(name)) held.delete(name)
      settle()
    },
  }
}

async function tokenOf(token: Token): Promise<string> {
  try {
    token.last = (await token.newest?.()) ?? ''
  } catch (error) {
    if (token.last === undefined) throw error
  }
  return token.last
}

function addressOf(access: Access, namespace: string): string {
  return JSON.stringify([access, namespace])
}

function doorTo(access: Access, namespace: string, found: ClusterAccess): Door {
  const { server, ca, cert, key, servername, insecure, token } = found
  const content = JSON.stringify([server, ca, cert, key, servername, insecure, token !== undefined])
  const digest = createHash('sha256').update(content).digest('hex')
  return { key: `${addressOf(access, namespace)} ${digest}`, namespace, access: found }
}
