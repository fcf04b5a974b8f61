/**
 * The node configs of one cluster: an informer cache that is never older than Viola's own writes.
 *
 * Reads use the cache only while its watch works. Otherwise they go to the API server, so that an unreachable cluster is an
 * error and not stale data.
 */
import { createHash } from 'node:crypto'
import { nameFields } from '../../contract/interfaces.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isRetryable, kubeErrorIn } from '../../kube/errors.ts'
import { type FieldManager, readFieldManagers } from '../../kube/field-managers.ts'
import { type Change, createInformer } from '../../kube/informer.ts'
import { retry } from '../../runtime/retry.ts'
import type { Log } from '../../telemetry/log.ts'
import { createBreaker } from './circuit-breaker.ts'
import { createLimit, shareNextRun } from './concurrency-limit.ts'
import { monitored } from './monitored.ts'
import { type NodeList, openNodeList } from './node-list.ts'

export interface Snapshot {
  get(objectName: string): NodeConfig | undefined
  list(): NodeConfig[]
}

export interface Cluster {
  observe(): Promise<Snapshot>
  /** Reads one object from the API server. */
  read(objectName: string): Promise<NodeConfig | undefined>
  fieldManagers(objectName: string): Promise<FieldManager[]>
  /** Server-side apply with field manager `viola`. Later reads include it; the same holds for `remove`. */
  apply(object: AppliedObject, force: boolean): Promise<NodeConfig>
  remove(object: NodeConfig): Promise<void>
  /** Calls the listener with every existing object as added, then with every change. Returns a function that unsubscribes it. */
  subscribe(listener: (change: Change<NodeConfig>) => void): () => void
  /** The Nodes of the cluster. Watched from the first read on, because not every account has the right. */
  nodes: NodeList
  /** Why the cluster is unreachable, as far as is known. */
  problem(): string | undefined
  /** Aborted when the routing no longer uses the cluster. */
  readonly released: AbortSignal
  release(): void
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
  /** Maximum concurrent writes of all requests together. */
  parallel: number
  now?: () => number
}

/** After this time the watch will not deliver a write any more: the object has changed again since. */
const maxLagMs = 10_000

export function openCluster({
  kube,
  namespace,
  log,
  parallel,
  now = () => performance.now(),
}: ClusterOptions): Cluster {
  const stop = new AbortController()
  const releasing = new AbortController()
  const breaker = createBreaker(now)
  const limit = createLimit(parallel)
  // The informer and the requests share lists: a list of a hostile cluster fits into the memory of Viola, two do not.
  const list = shareNextRun(() => kube.list(nodeConfigs, { namespace }))
  const watched = monitored({ ...kube, list: list as KubeClient['list'] }, breaker.reset)
  const informer = createInformer<NodeConfig>(watched.kube, nodeConfigs, { namespace, log })
  const cachedObjects = () => informer.list().filter(isValid)
  const cachedObject = (name: string) => ifValid(informer.get({ namespace, name }))
  const written = new Map<string, LastWrite>()

  informer.on(({ type, object }) => {
    const last = written.get(object.metadata.name)
    if (last && isSeen(last, object, type === 'deleted')) written.delete(object.metadata.name)
  })
  informer.start(stop.signal).catch(() => {})

  function newest(objectName: string, cached: NodeConfig | undefined): NodeConfig | undefined {
    const last = written.get(objectName)
    if (!last) return cached
    if (now() - last.at <= maxLagMs) return last.object
    written.delete(objectName)
    return cached
  }

  function snapshotOf(objects: readonly NodeConfig[]): Snapshot {
    const byName = new Map(objects.map(object => [object.metadata.name, object]))
    return {
      get: objectName => byName.get(objectName),
      list: () => [...byName.values()],
    }
  }

  /** Remembers the result of a write until the watch delivers it. */
  function remember(name: string, object: NodeConfig | undefined): void {
    const cached = informer.get({ namespace, name })
    const caughtUp = object ? cached !== undefined && !isOlder(cached, object) : cached === undefined
    if (caughtUp) written.delete(name)
    else written.set(name, { object, uid: (object ?? cached)?.metadata.uid, at: now() })
  }

  /** The operator holds removals itself: the controller must not hold them a second time. */
  async function approveDeletion(name: string, uid: string | undefined): Promise<void> {
    const annotations = { [nodeConfigAnnotations.approveDeletions]: `${Math.floor(Date.now() / 1_000)}` }
    try {
      await kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations, ...(uid && { uid }) } })
    } catch (error) {
      // An object that a newer schema rejects can still be deleted.
      if (isRetryable(error)) throw error
    }
  }

  const read = async (name: string) => ifValid(await breaker.run(() => kube.get(nodeConfigs, { namespace, name })))

  return {
    async observe() {
      if (!(informer.synced && watched.works())) {
        const { items } = await breaker.run(list)
        return snapshotOf(items.filter(isValid))
      }
      const get = (name: string) => newest(name, cachedObject(name))
      const names = () => new Set([...cachedObjects().map(({ metadata }) => metadata.name), ...written.keys()])
      return { get, list: () => (written.size === 0 ? cachedObjects() : [...names()].flatMap(name => get(name) ?? [])) }
    },
    read,
    fieldManagers: name => breaker.run(() => readFieldManagers(kube, nodeConfigs, { namespace, name })),
    async apply({ metadata, spec }, force) {
      const apply = (spec: NodeConfig['spec']) => {
        const body = { metadata: { ...metadata, namespace }, spec }
        return retryThrottled(() => kube.apply<NodeConfig>(nodeConfigs, body, { fieldManager, force }))
      }
      const applyFirst = ([first, ...others]: Forms): Promise<NodeConfig> =>
        apply(first).catch(error => {
          const [next, ...rest] = others
          if (!next || !isUndeclaredField(error)) throw error
          return applyFirst([next, ...rest])
        })
      const object = await limit(() => breaker.run(() => applyFirst(formsFor(spec))))
      remember(metadata.name, object)
      return object
    },
    async remove({ metadata: { name, uid } }) {
      await breaker.run(() => approveDeletion(name, uid))
      await breaker.run(() => kube.delete(nodeConfigs, { namespace, name }, uid ? { uid } : {}))
      remember(name, await read(name))
    },
    subscribe: listener =>
      informer.on(change => {
        if (isValid(change.object)) listener(change)
      }),
    nodes: openNodeList({ kube, log, breaker, signal: stop.signal }),
    problem: () => breaker.open ?? watched.problem(),
    released: releasing.signal,
    release: () => releasing.abort(),
    async close() {
      releasing.abort()
      stop.abort()
      await kube.close()
    },
  }
}

/** The CRD of the Go implementation accepts objects without a node name: they are ignored until the next apply repairs them. */
function isValid(object: NodeConfig): boolean {
  return typeof object.spec?.nodeName === 'string' && Array.isArray(object.spec.interfaces)
}

function ifValid(object: NodeConfig | undefined): NodeConfig | undefined {
  return object && isValid(object) ? object : undefined
}

/** The CRD is older than a field. The real server answers 500. */
function isUndeclaredField(error: unknown): boolean {
  return kubeErrorIn(error)?.message.includes('field not declared in schema') ?? false
}

type Forms = [NodeConfig['spec'], ...NodeConfig['spec'][]]

/**
 * The spec for our CRD and that of the Go implementation: the configuration of a node must not wait for a CRD that knows the
 * allowed address pairs or the names. A CRD that only lacks the name of the provider gets the other names, because node
 * labels have the aliases.
 */
function formsFor(complete: NodeConfig['spec']): Forms {
  const hasPairs = complete.interfaces.some(nic => nic.allowedAddressPairs !== undefined)
  if (!hasPairs) return formsWithoutPairs(complete)
  const interfaces = complete.interfaces.map(({ allowedAddressPairs: _, ...nic }) => nic)
  return [complete, ...formsWithoutPairs({ ...complete, interfaces })]
}

function formsWithoutPairs(spec: NodeConfig['spec']): Forms {
  const { providerName, ...withoutProvider } = spec
  const { instanceName: _, ...nameless } = withoutProvider
  const absent = Object.fromEntries(Object.values(nameFields).map(name => [name, undefined]))
  const interfaces = spec.interfaces.map(nic => ({ ...nic, ...absent }))
  return [spec, ...(providerName === undefined ? [] : [withoutProvider]), { ...nameless, interfaces }]
}

/** Retries after a 429 as the server requests. */
function retryThrottled<T>(work: () => Promise<T>): Promise<T> {
  return retry(work, {
    attempts: 4,
    firstMs: 200,
    maxMs: 2_000,
    isRetryable: error => kubeErrorIn(error)?.status === 429,
    retryAfterMs: error => (kubeErrorIn(error)?.retryAfter ?? 0) * 1_000,
  })
}

/**
 * Identifies the state of a list. It changes with every change of an object or of the provider's name, and is the same in
 * every replica.
 */
export function fingerprintOf(objects: readonly NodeConfig[], providerName = ''): string {
  const hash = createHash('sha256').update(providerName)
  for (const { metadata } of [...objects].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
    hash.update(`${metadata.name} ${metadata.uid} ${metadata.resourceVersion}\n`)
  return hash.digest('hex').slice(0, 32)
}

/** Viola's last write of one object: the result, or undefined after a deletion. */
interface LastWrite {
  object: NodeConfig | undefined
  uid: string | undefined
  at: number
}

/** Whether the watch has delivered the write or something newer. */
function isSeen(last: LastWrite, seen: NodeConfig, deleted: boolean): boolean {
  if (deleted) return last.uid === seen.metadata.uid
  return last.object ? !isOlder(seen, last.object) : last.uid !== seen.metadata.uid
}

/** Compares generations of one object: clients must not compare resource versions. */
function isOlder(object: NodeConfig, than: NodeConfig): boolean {
  if (object.metadata.uid !== than.metadata.uid)
    return (object.metadata.creationTimestamp ?? '') < (than.metadata.creationTimestamp ?? '')
  if (than.metadata.deletionTimestamp && !object.metadata.deletionTimestamp) return true
  return (object.metadata.generation ?? 0) < (than.metadata.generation ?? 0)
}
