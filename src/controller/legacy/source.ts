/**
 * The MultiNicBizConfigs of the cluster and their entries, in step. To the rest of the controller the entries stand among the
 * MultiNicNodeConfigs.
 *
 * While this process leads, what it knows of an entry is ahead of the status in the cluster, which is written folded.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson } from '../../contract/hash.ts'
import { type BizConfig, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type Indexes, indexesOf } from '../../contract/legacy/biz-nodes.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import { type Change, createCache } from '../../kube/cache.ts'
import { isForbidden, isNotFound } from '../../kube/errors.ts'
import { createInformer, type Informer } from '../../kube/informer.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Log } from '../../telemetry/log.ts'
import { spellingsOf } from '../machine.ts'
import { keptConfig } from '../trim.ts'
import { bizKeyOf } from './entry.ts'
import { type BizMode, type Unfolded, unfold } from './expand.ts'

export interface BizSource {
  /** The MultiNicNodeConfigs, and the entries among them. */
  configs: Informer<NodeConfig>
  get(bizKey: string): BizConfig | undefined
  list(): BizConfig[]
  unfolded(bizKey: string): Unfolded
  /** An entry as this process has just made it. */
  put(entry: NodeConfig): NodeConfig
  /** An entry that needs nothing any more. */
  drop(entry: NodeConfig): void
  /** The MultiNicNodeConfig of the same machine, unless it is going. */
  ownerOf(entry: NodeConfig): NodeConfig | undefined
  /** Told with the key of a BizConfig whose status may have to say more. */
  onStale(listener: (bizKey: string) => void): () => void
  /** Another process may have led meanwhile: the status of the cluster counts again. */
  begin(): void
}

export interface BizOptions {
  kube: Pick<Kube, 'list' | 'watch'>
  namespace: string
  mode: BizMode
  /** Those of the API server. */
  real: Informer<NodeConfig>
  index: Record<string, (config: NodeConfig) => string[]>
  /** The SystemUUID of a Node, by its name. */
  machineOf(nodeName: string): string | undefined
  log: Log
}

/** A cluster without the definition is asked again after this long. */
const askAgainMs = 30_000

export function followBizConfigs(options: BizOptions): BizSource {
  const { kube, namespace, mode, real } = options
  // A definition that was removed after the migration is no trouble.
  const log: Log = { ...options.log, warn: options.log.debug, with: () => log }
  const documents = createInformer(kube, bizConfigs, { namespace, log, keep: keptConfig })
  const cache = createCache<NodeConfig>({ ...options.index, biz: entry => [bizKeyOf(keyOf(entry)) ?? ''] })
  const listeners = new Set<(change: Change<NodeConfig>) => void>()
  const stale = new Set<(bizKey: string) => void>()
  /** What else a document was unfolded into, and its entries in their order. */
  const rests = new Map<string, Omit<Unfolded, 'entries'> & { names: Set<string> }>()
  let versions = 0

  const tell = (changes: Change<NodeConfig>[]) => {
    for (const change of changes) for (const listener of listeners) listener(change)
  }
  const fade = (bizKey: string) => {
    for (const listener of stale) listener(bizKey)
  }
  const entriesOf = (bizKey: string) => cache.by('biz', bizKey)
  const machineOf = ({ spec }: NodeConfig) => spec.instanceId || options.machineOf(spec.nodeName) || ''
  const entriesAt = (machine: string) => [...new Set(spellingsOf(machine).flatMap(text => cache.by('machine', text)))]

  function numbersOf(nodeId: string): Indexes {
    const [found] = spellingsOf(nodeId).flatMap(spelling => real.by('machine', spelling))
    return indexesOf(found?.spec.interfaces ?? [])
  }

  function put(entry: NodeConfig): NodeConfig {
    const own = { ...entry, metadata: { ...entry.metadata, resourceVersion: `entry-${++versions}` } }
    tell(cache.put(own))
    return own
  }

  function enter(biz: BizConfig, entries: readonly NodeConfig[]): void {
    const key = keyOf(biz)
    const before = entriesOf(key)
    const { entries: wanted, ...rest } = unfold({ biz, entries, mode, numbersOf, now: new Date() })
    const names = new Set(wanted.map(({ metadata }) => metadata.name))
    rests.set(key, { ...rest, names })
    for (const entry of before) if (!names.has(entry.metadata.name)) tell(cache.remove(entry))
    const known = new Set(before)
    for (const entry of wanted) if (!known.has(entry)) put(entry)
    fade(key)
  }

  documents.on(({ type, object, old }) => {
    const key = keyOf(object)
    if (type === 'deleted') {
      rests.delete(key)
      for (const entry of entriesOf(key)) tell(cache.remove(entry))
    } else if (!old || saysMore(object, old)) enter(object, entriesOf(key))
  })
  real.on(({ object }) => {
    for (const entry of entriesAt(machineOf(object))) fade(bizKeyOf(keyOf(entry)) ?? '')
  })

  /** Resolves when all documents are known, or the cluster has no such kind. */
  async function start(signal: AbortSignal): Promise<void> {
    const exists = await isServed(signal)
    if (exists) return documents.start(signal)
    void comesLater(signal)
  }

  async function isServed(signal: AbortSignal): Promise<boolean> {
    try {
      await kube.list(bizConfigs, { namespace, signal, fieldSelector: 'metadata.name=none' })
      return true
    } catch (error) {
      if (isForbidden(error)) options.log.warn('MultiNicBizConfigs may not be read, so none is served', { error })
      // Any other failure is the informer's work.
      return !isNotFound(error) && !isForbidden(error)
    }
  }

  async function comesLater(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(askAgainMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted || !(await isServed(signal))) continue
      await documents.start(signal).catch(() => {})
      return
    }
  }

  return {
    configs: {
      async start(signal) {
        // The numbers of a node may stand in its MultiNicNodeConfig alone.
        await real.start(signal)
        await start(signal)
      },
      get: key => real.get(key) ?? cache.get(key),
      list: () => [...real.list(), ...cache.list()],
      by: (name, value) => [...real.by(name, value), ...cache.by(name, value)],
      on(listener) {
        const stop = real.on(listener)
        listeners.add(listener)
        for (const object of cache.list()) listener({ type: 'added', object })
        return () => {
          stop()
          listeners.delete(listener)
        }
      },
      get synced() {
        return real.synced
      },
      get lastEventAt() {
        return real.lastEventAt
      },
    },
    get: key => documents.get(key),
    list: () => documents.list(),
    unfolded(key) {
      const { frozen = [], ignored = 0, names = [] } = rests.get(key) ?? {}
      const own = new Map(entriesOf(key).map(entry => [entry.metadata.name, entry]))
      return { frozen, ignored, entries: [...names].flatMap(name => own.get(name) ?? []) }
    },
    put(entry) {
      const own = put(entry)
      fade(bizKeyOf(keyOf(own)) ?? '')
      return own
    },
    drop(entry) {
      tell(cache.remove(entry))
      fade(bizKeyOf(keyOf(entry)) ?? '')
    },
    ownerOf(entry) {
      const spellings = spellingsOf(entry.spec.instanceId ?? '')
      const claiming = spellings.flatMap(spelling => real.by('machine', spelling))
      const named = real.list().length ? real.by('node', nodeNameOf(entry)) : []
      const found = [...claiming, ...named.filter(({ spec }) => !spec.instanceId)]
      return found.find(({ metadata }) => !metadata.deletionTimestamp)
    },
    onStale(listener) {
      stale.add(listener)
      return () => stale.delete(listener)
    },
    begin() {
      for (const biz of documents.list()) enter(biz, [])
    },
  }

  function nodeNameOf({ spec }: NodeConfig): string {
    // The name in the document is a hint: it counts where that Node is this machine.
    const machine = options.machineOf(spec.nodeName) ?? ''
    return spellingsOf(machine).includes((spec.instanceId ?? '').toLowerCase()) ? spec.nodeName : ''
  }
}

/** Our own status comes back as an event, and is no news. */
function saysMore(object: BizConfig, old: BizConfig): boolean {
  const said = ({ metadata }: BizConfig) => {
    const { uid, generation, deletionTimestamp, finalizers, annotations } = metadata
    return canonicalJson([uid, generation, deletionTimestamp, finalizers, annotations])
  }
  return said(object) !== said(old)
}
