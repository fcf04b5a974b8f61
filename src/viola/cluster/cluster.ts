/**
 * What one cluster holds: a copy of its node configs that follows it, and never older than what we wrote ourselves.
 *
 * The copy answers only while its watch is known to live; otherwise the cluster is asked, so that one that is away is
 * noticed and not answered for.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type NodeConfig, nodeConfigs } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import type { KubeClient } from '../../kube/client.ts'
import { kubeErrorIn } from '../../kube/errors.ts'
import { type Change, createInformer } from '../../kube/informer.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import { createBreaker } from './circuit-breaker.ts'
import { createLanes } from './concurrency-limit.ts'

export interface Snapshot {
  get(objectName: string): NodeConfig | undefined
  list(): NodeConfig[]
}

export interface Cluster {
  observe(): Promise<Snapshot>
  /** One object as the cluster has it at this moment. */
  read(objectName: string): Promise<NodeConfig | undefined>
  /** Server-side apply as `viola`. Reads show it from now on, as they do with a removal. */
  apply(object: AppliedObject, force: boolean): Promise<NodeConfig>
  remove(object: NodeConfig): Promise<void>
  /** What is there is told as added at once, then every change. Returns the way to stop listening. */
  follow(listener: (change: Change<NodeConfig>) => void): () => void
  /** What keeps the cluster from being spoken to, as far as is known. */
  trouble(): string | undefined
  /** Aborted when the routing has let go of the cluster. */
  readonly letGo: AbortSignal
  leave(): void
  close(): Promise<void>
}

export interface AppliedObject {
  metadata: {
    name: string
    labels: Record<string, string>
    annotations?: Record<string, string>
    uid?: string
    resourceVersion?: string
  }
  spec: NodeConfig['spec']
}

export const fieldManager = 'viola'

export interface ClusterOptions {
  kube: KubeClient
  namespace: string
  log: Log
  /** Writes at a time, of all requests together. */
  parallel: number
  now?: () => number
}

/** A write that the watch has not told of by then never will be told: its object has changed again since. */
const longestLagMs = 10_000

export function openCluster({
  kube,
  namespace,
  log,
  parallel,
  now = () => performance.now(),
}: ClusterOptions): Cluster {
  const stop = new AbortController()
  const leaving = new AbortController()
  const breaker = createBreaker(now)
  const lanes = createLanes(parallel)
  const watched = livenessOf(kube, breaker.reset)
  const informer = createInformer<NodeConfig>(watched.kube, nodeConfigs, { namespace, log })
  const copies = () => informer.list().filter(isUsable)
  const copyOf = (name: string) => usable(informer.get({ namespace, name }))
  const written = new Map<string, Written>()

  informer.on(({ type, object }) => {
    const ours = written.get(object.metadata.name)
    if (ours && hasComeIn(ours, object, type === 'deleted')) written.delete(object.metadata.name)
  })
  informer.start(stop.signal).catch(() => {})

  function newest(objectName: string, copy: NodeConfig | undefined): NodeConfig | undefined {
    const ours = written.get(objectName)
    if (!ours) return copy
    if (now() - ours.at <= longestLagMs) return ours.object
    written.delete(objectName)
    return copy
  }

  function snapshotOf(objects: readonly NodeConfig[]): Snapshot {
    const byName = new Map(objects.map(object => [object.metadata.name, object]))
    return {
      get: objectName => byName.get(objectName),
      list: () => [...byName.values()],
    }
  }

  /** The answer to a write of ours. */
  function wrote(name: string, object: NodeConfig | undefined): void {
    const copy = informer.get({ namespace, name })
    const caughtUp = object ? copy !== undefined && !isOlder(copy, object) : copy === undefined
    if (caughtUp) written.delete(name)
    else written.set(name, { object, uid: (object ?? copy)?.metadata.uid, at: now() })
  }

  const read = async (name: string) => usable(await breaker.run(() => kube.get(nodeConfigs, { namespace, name })))

  return {
    async observe() {
      if (!(informer.synced && watched.alive())) {
        const { items } = await breaker.run(() => kube.list(nodeConfigs, { namespace }))
        return snapshotOf(items.filter(isUsable))
      }
      const get = (name: string) => newest(name, copyOf(name))
      const names = () => new Set([...copies().map(({ metadata }) => metadata.name), ...written.keys()])
      return { get, list: () => (written.size === 0 ? copies() : [...names()].flatMap(name => get(name) ?? [])) }
    },
    read,
    async apply({ metadata, spec }, force) {
      const body = { metadata: { ...metadata, namespace }, spec }
      const apply = () => kube.apply<NodeConfig>(nodeConfigs, body, { fieldManager, force })
      const object = await lanes(() => breaker.run(() => patiently(apply)))
      wrote(metadata.name, object)
      return object
    },
    async remove({ metadata: { name, uid } }) {
      await breaker.run(() => kube.delete(nodeConfigs, { namespace, name }, uid ? { uid } : {}))
      wrote(name, await read(name))
    },
    follow: listener =>
      informer.on(change => {
        if (isUsable(change.object)) listener(change)
      }),
    trouble: () => breaker.open ?? watched.trouble(),
    letGo: leaving.signal,
    leave: () => leaving.abort(),
    async close() {
      leaving.abort()
      stop.abort()
      await kube.close()
    },
  }
}

/** An older schema may have let objects in that name no node: they are nobody's, and the next apply mends them. */
function isUsable(object: NodeConfig): boolean {
  return typeof object.spec?.nodeName === 'string' && Array.isArray(object.spec.interfaces)
}

function usable(object: NodeConfig | undefined): NodeConfig | undefined {
  return object && isUsable(object) ? object : undefined
}

/** A server that has too much to do is asked again, when it says. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const found = kubeErrorIn(error)
      if (found?.status !== 429 || attempt >= 4) throw error
      await sleep(Math.min(2_000, (found.retryAfter ?? 0.1 * 2 ** attempt) * 1_000))
    }
  }
}

/** One text for one state of a list: equal as long as nothing in it changed, in every replica. */
export function fingerprintOf(objects: readonly NodeConfig[]): string {
  const hash = createHash('sha256')
  for (const { metadata } of [...objects].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
    hash.update(`${metadata.name} ${metadata.uid} ${metadata.resourceVersion}\n`)
  return hash.digest('hex').slice(0, 32)
}

/** Our last write to one name: the object that it left, or none. */
interface Written {
  object: NodeConfig | undefined
  uid: string | undefined
  at: number
}

/** Reports whether the watch has told what we wrote, or something newer. */
function hasComeIn(ours: Written, told: NodeConfig, deleted: boolean): boolean {
  if (deleted) return ours.uid === told.metadata.uid
  return ours.object ? !isOlder(told, ours.object) : ours.uid !== told.metadata.uid
}

/** A generation counts what was written to the spec of one object; resource versions are not ours to compare. */
function isOlder(object: NodeConfig, than: NodeConfig): boolean {
  if (object.metadata.uid !== than.metadata.uid)
    return (object.metadata.creationTimestamp ?? '') < (than.metadata.creationTimestamp ?? '')
  if (than.metadata.deletionTimestamp && !object.metadata.deletionTimestamp) return true
  return (object.metadata.generation ?? 0) < (than.metadata.generation ?? 0)
}

/** Reports whether the last word of a watch or list was a good one. */
function livenessOf(kube: Kube, onWord: () => void) {
  let trouble: string | undefined = 'not asked yet'
  const alive = () => {
    if (trouble !== undefined) onWord()
    trouble = undefined
  }
  const failed = (error: unknown) => {
    trouble = messageOf(error)
    return error
  }
  const watched: Pick<Kube, 'list' | 'watch'> = {
    async list(resource, options) {
      try {
        const found = await kube.list(resource, options)
        alive()
        return found
      } catch (error) {
        throw failed(error)
      }
    },
    async *watch(resource, options) {
      try {
        for await (const event of kube.watch(resource, options)) {
          alive()
          yield event
        }
      } catch (error) {
        throw failed(error)
      }
    },
  }
  return { kube: watched, alive: () => trouble === undefined, trouble: () => trouble }
}
