/**
 * What one cluster holds: a copy of its node configs that follows it, and never older than what we wrote ourselves.
 *
 * The copy answers only while its watch is known to live; otherwise the cluster is asked, so that one that is away is
 * noticed and not answered for.
 */
import { createHash } from 'node:crypto'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import type { KubeClient } from '../kube/client.ts'
import { createInformer } from '../kube/informer.ts'
import type { Log } from '../log.ts'

export interface Snapshot {
  get(objectName: string): NodeConfig | undefined
  list(): NodeConfig[]
}

export interface Cluster {
  kube: Kube
  namespace: string
  observe(): Promise<Snapshot>
  /** One object as the cluster has it at this moment. */
  read(objectName: string): Promise<NodeConfig | undefined>
  /** The answer to a write of ours: reads show it from now on. */
  wrote(objectName: string, object: NodeConfig | undefined): void
  close(): Promise<void>
}

export interface ClusterOptions {
  kube: KubeClient
  namespace: string
  log: Log
  now?: () => number
}

/** A write that the watch has not told of by then never will be told: its object has changed again since. */
const longestLagMs = 10_000

export function openCluster({ kube, namespace, log, now = Date.now }: ClusterOptions): Cluster {
  const stop = new AbortController()
  const watched = livenessOf(kube)
  const informer = createInformer<NodeConfig>(watched.kube, nodeConfigs, { namespace, log })
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

  return {
    kube,
    namespace,
    async observe() {
      if (!(informer.synced && watched.alive())) {
        const { items } = await kube.list(nodeConfigs, { namespace })
        return snapshotOf(items)
      }
      if (written.size === 0) return { get: name => informer.get({ namespace, name }), list: () => informer.list() }
      const names = new Set([...informer.list().map(({ metadata }) => metadata.name), ...written.keys()])
      return snapshotOf([...names].flatMap(name => newest(name, informer.get({ namespace, name })) ?? []))
    },
    read: name => kube.get(nodeConfigs, { namespace, name }),
    wrote(name, object) {
      const copy = informer.get({ namespace, name })
      const caughtUp = object ? copy !== undefined && !isOlder(copy, object) : copy === undefined
      if (caughtUp) written.delete(name)
      else written.set(name, { object, uid: (object ?? copy)?.metadata.uid, at: now() })
    },
    async close() {
      stop.abort()
      await kube.close()
    },
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
function livenessOf(kube: Kube): { kube: Pick<Kube, 'list' | 'watch'>; alive(): boolean } {
  let alive = false
  return {
    alive: () => alive,
    kube: {
      async list(resource, options) {
        const found = await kube.list(resource, options)
        alive = true
        return found
      },
      async *watch(resource, options) {
        try {
          for await (const event of kube.watch(resource, options)) {
            alive = true
            yield event
          }
        } catch (error) {
          alive = false
          throw error
        }
      },
    },
  }
}
