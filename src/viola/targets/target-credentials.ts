/**
 * The current credentials of each target. Files and Secrets are read again when they may have changed. If the new ones are
 * unusable, the previous credentials stay in effect and the target has a problem.
 */
import { createHash } from 'node:crypto'
import type { ClusterAccess } from '../../kube/config.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { CredentialReader } from './credentials.ts'
import type { Access, Route } from './routing.ts'

export interface TargetAccess {
  /** Equal for two targets with the same cluster, namespace and credentials. A rotated token keeps the key. */
  key: string
  namespace: string
  access: ClusterAccess
}

export interface TargetCredentials {
  /** Throws `UnusableTarget` if the target never had usable credentials. */
  resolve(name: string, route: Route): Promise<TargetAccess>
  /** The result of the last `resolve`. */
  current(name: string): TargetAccess | undefined
  /** Why the latest files or Secret of a target are unusable. */
  problem(name: string): string | undefined
  /** Whether a target uses the access with this key. */
  isCurrent(key: string): boolean
  /** Drops all other targets. */
  retain(names: ReadonlySet<string>): void
}

/** The routing names a target for the provider, but Viola cannot connect to it as configured. */
export class UnusableTarget extends Error {}

export interface TargetCredentialsOptions {
  log: Log
  reader: Pick<CredentialReader, 'read' | 'versionOf'>
  /** Credentials are read again after this time even if their version is the same: a kubeconfig may refer to other files. */
  maxAgeMs: number
  /** Runs after a target got other credentials. */
  onChange(): void
  now?: () => number
}

interface LastRead {
  source: string
  version: string
  at: number
  ok: boolean
}

/** A token may rotate while the connections of its cluster stay open. */
interface Token {
  read?: ClusterAccess['token']
  last?: string
}

export function openTargetCredentials(options: TargetCredentialsOptions): TargetCredentials {
  const { log, reader, maxAgeMs, onChange, now = () => performance.now() } = options
  const accesses = new Map<string, TargetAccess>()
  const lastReads = new Map<string, LastRead>()
  const problems = new Map<string, string>()
  const tokens = new Map<string, Token>()
  const reading = new Map<string, Promise<TargetAccess>>()
  const queued = new Map<string, Promise<TargetAccess>>()
  const isCurrent = (key: string) => [...accesses.values()].some(access => access.key === key)

  async function readTarget(name: string, access: Access, namespace: string): Promise<TargetAccess> {
    // The version is taken first: a change during the read causes another read.
    const version = await reader.versionOf(access)
    const done = (ok: boolean) => lastReads.set(name, { source: sourceOf(access, namespace), version, at: now(), ok })
    try {
      const found = await reader.read(access)
      done(true)
      return accept(name, targetAccess(access, namespace, found), found.token)
    } catch (error) {
      done(false)
      return keepPrevious(name, error)
    }
  }

  function accept(name: string, latest: TargetAccess, readToken: ClusterAccess['token']): TargetAccess {
    const token: Token = tokens.get(latest.key) ?? {}
    token.read = readToken
    tokens.set(latest.key, token)
    if (problems.delete(name)) log.info('credentials usable again', { target: name })
    const previous = accesses.get(name)
    if (previous?.key === latest.key) return previous
    const accepted = { ...latest, access: { ...latest.access, ...(readToken && { token: () => tokenOf(token) }) } }
    accesses.set(name, accepted)
    dropUnused()
    return accepted
  }

  function keepPrevious(name: string, error: unknown): TargetAccess {
    const message = messageOf(error)
    const previous = accesses.get(name)
    const problem = previous ? `${message}; the previous credentials stay in effect` : message
    if (problems.get(name) !== problem) log.error('cannot use credentials', { target: name, error })
    problems.set(name, problem)
    if (!previous) throw new UnusableTarget(message)
    return previous
  }

  function dropUnused(): void {
    for (const key of tokens.keys()) if (!isCurrent(key)) tokens.delete(key)
    onChange()
  }

  /** A read in progress may have missed the latest change: one more read follows it, shared by all waiting callers. */
  function readAgain(name: string, access: Access, namespace: string): Promise<TargetAccess> {
    const id = `${name} ${sourceOf(access, namespace)}`
    const inProgress = reading.get(id)
    if (!inProgress) {
      const started = readTarget(name, access, namespace).finally(() => reading.delete(id))
      reading.set(id, started)
      return started
    }
    const next = () => {
      queued.delete(id)
      return readAgain(name, access, namespace)
    }
    const following = queued.get(id) ?? inProgress.then(next, next)
    queued.set(id, following)
    return following
  }

  return {
    async resolve(name, { access, namespace, unusable }) {
      if (!access) throw new UnusableTarget(unusable ?? 'the target names no cluster')
      const current = accesses.get(name)
      const last = lastReads.get(name)
      const isSameSource = current !== undefined && last?.source === sourceOf(access, namespace)
      const isFresh = last !== undefined && now() - last.at < maxAgeMs
      if (access.by === 'secret') {
        if (!isSameSource) return readAgain(name, access, namespace)
        // Not awaited: the cluster with the Secret may be unreachable.
        if (!isFresh) readAgain(name, access, namespace).catch(() => {})
        return current
      }
      const isUnchanged = isSameSource && isFresh && last?.ok && last.version === (await reader.versionOf(access))
      return isUnchanged ? current : readAgain(name, access, namespace)
    },
    current: name => accesses.get(name),
    problem: name => problems.get(name),
    isCurrent,
    retain(names) {
      for (const byName of [accesses, lastReads, problems])
        for (const name of byName.keys()) if (!names.has(name)) byName.delete(name)
      dropUnused()
    },
  }
}

async function tokenOf(token: Token): Promise<string> {
  try {
    token.last = (await token.read?.()) ?? ''
  } catch (error) {
    if (token.last === undefined) throw error
  }
  return token.last
}

function sourceOf(access: Access, namespace: string): string {
  return JSON.stringify([access, namespace])
}

function targetAccess(access: Access, namespace: string, found: ClusterAccess): TargetAccess {
  const { server, ca, cert, key, servername, insecure, token } = found
  const content = JSON.stringify([server, ca, cert, key, servername, insecure, token !== undefined])
  const digest = createHash('sha256').update(content).digest('hex')
  return { key: `${sourceOf(access, namespace)} ${digest}`, namespace, access: found }
}
