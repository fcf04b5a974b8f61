/**
 * The MultiNicBizConfigs of the cluster and their entries. The rest of the controller sees the entries among the
 * MultiNicNodeConfigs.
 *
 * While this process leads, its entries are newer than the status in the cluster, which is written in batches.
 * Legacy until 1.0: see docs/decisions/0030-end-of-legacy-support.md.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { equalJson } from '../../contract/json.ts'
import { type BizConfig, bizConfigs } from '../../contract/legacy/biz-config.ts'
import { type Indexes, indexesOf } from '../../contract/legacy/biz-nodes.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import { type Change, createCache } from '../../kube/cache.ts'
import { isForbidden, isNotFound } from '../../kube/errors.ts'
import { createInformer, type Informer } from '../../kube/informer.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Log } from '../../telemetry/log.ts'
import type { BizConfigMode } from '../config.ts'
import { spellingsOf } from '../machine.ts'
import { trimConfig } from '../trim.ts'
import { bizKeyOf } from './entry.ts'
import { type Expanded, expandBizConfig } from './expand.ts'

export interface BizConfigSource {
  /** The MultiNicNodeConfigs of the API server, and the entries. */
  configs: Informer<NodeConfig>
  get(bizKey: string): BizConfig | undefined
  list(): BizConfig[]
  expanded(bizKey: string): Expanded
  /** Stores a new version of an entry. */
  put(entry: NodeConfig): NodeConfig
  /** Removes an entry that is cleaned up. */
  drop(entry: NodeConfig): void
  /** The MultiNicNodeConfig of the same machine, unless it is being deleted. */
  ownerOf(entry: NodeConfig): NodeConfig | undefined
  /** Calls the listener with the key of each BizConfig whose status may be out of date. */
  onStale(listener: (bizKey: string) => void): () => void
  /** For a new leader: another process may have led since, so the entries start again from the status in the cluster. */
  reload(): void
}

export interface BizConfigSourceOptions {
  kube: Pick<Kube, 'list' | 'watch'>
  namespace: string
  mode: BizConfigMode
  nodeConfigs: Informer<NodeConfig>
  index: Record<string, (config: NodeConfig) => string[]>
  /** The SystemUUID of a Node, by its name. */
  machineOf(nodeName: string): string | undefined
  log: Log
}

/** How often to check a cluster without the CRD for it. */
const crdPollMs = 30_000

export function createBizConfigSource(options: BizConfigSourceOptions): BizConfigSource {
  const { kube, namespace, mode, nodeConfigs } = options
  // After a migration the CRD may be gone, which is no reason for warnings.
  const log: Log = { ...options.log, warn: options.log.debug, with: () => log }
  const documents = createInformer(kube, bizConfigs, { namespace, log, keep: trimConfig })
  const entries = createCache<NodeConfig>({ ...options.index, biz: entry => [bizKeyOf(keyOf(entry)) ?? ''] })
  const listeners = new Set<(change: Change<NodeConfig>) => void>()
  const staleListeners = new Set<(bizKey: string) => void>()
  /** What each BizConfig expanded to, with the names of its entries in order. */
  const expansions = new Map<string, Omit<Expanded, 'entries'> & { names: Set<string> }>()
  let versions = 0

  const notify = (changes: Change<NodeConfig>[]) => {
    for (const change of changes) for (const listener of listeners) listener(change)
  }
  const markStale = (bizKey: string) => {
    for (const listener of staleListeners) listener(bizKey)
  }
  const entriesOf = (bizKey: string) => entries.by('biz', bizKey)
  const machineOf = ({ spec }: NodeConfig) => spec.instanceId || options.machineOf(spec.nodeName) || ''
  const entriesAt = (machine: string) => [...new Set(spellingsOf(machine).flatMap(text => entries.by('machine', text)))]

  function knownIndexes(nodeId: string): Indexes {
    const [found] = spellingsOf(nodeId).flatMap(spelling => nodeConfigs.by('machine', spelling))
    return indexesOf(found?.spec.interfaces ?? [])
  }

  function put(entry: NodeConfig): NodeConfig {
    const stored = { ...entry, metadata: { ...entry.metadata, resourceVersion: `entry-${++versions}` } }
    notify(entries.put(stored))
    return stored
  }

  function expand(biz: BizConfig, current: readonly NodeConfig[]): void {
    const key = keyOf(biz)
    const before = entriesOf(key)
    const { entries: after, ...rest } = expandBizConfig({
      ...{ biz, entries: current, mode },
      indexesOf: knownIndexes,
      now: new Date(),
    })
    const names = new Set(after.map(({ metadata }) => metadata.name))
    expansions.set(key, { ...rest, names })
    for (const entry of before) if (!names.has(entry.metadata.name)) notify(entries.remove(entry))
    const known = new Set(before)
    for (const entry of after) if (!known.has(entry)) put(entry)
    markStale(key)
  }

  documents.on(({ type, object, old }) => {
    const key = keyOf(object)
    if (type === 'deleted') {
      expansions.delete(key)
      for (const entry of entriesOf(key)) notify(entries.remove(entry))
    } else if (!old || hasChanged(object, old)) expand(object, entriesOf(key))
  })
  nodeConfigs.on(({ object }) => {
    for (const entry of entriesAt(machineOf(object))) markStale(bizKeyOf(keyOf(entry)) ?? '')
  })

  /** Resolves when all BizConfigs are listed, or when the cluster has no such CRD. */
  async function start(signal: AbortSignal): Promise<void> {
    if (await isServed(signal)) return documents.start(signal)
    void waitForCrd(signal)
  }

  async function isServed(signal: AbortSignal): Promise<boolean> {
    try {
      await kube.list(bizConfigs, { namespace, signal, fieldSelector: 'metadata.name=none' })
      return true
    } catch (error) {
      if (isForbidden(error)) options.log.warn('no permission to list MultiNicBizConfigs, ignoring them', { error })
      // The informer retries all other errors.
      return !isNotFound(error) && !isForbidden(error)
    }
  }

  async function waitForCrd(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(crdPollMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted || !(await isServed(signal))) continue
      await documents.start(signal).catch(() => {})
      return
    }
  }

  return {
    configs: {
      async start(signal) {
        // First, because the interface indexes of a node may be known only from its MultiNicNodeConfig.
        await nodeConfigs.start(signal)
        await start(signal)
      },
      get: key => nodeConfigs.get(key) ?? entries.get(key),
      list: () => [...nodeConfigs.list(), ...entries.list()],
      by: (name, value) => [...nodeConfigs.by(name, value), ...entries.by(name, value)],
      on(listener) {
        const stop = nodeConfigs.on(listener)
        listeners.add(listener)
        for (const object of entries.list()) listener({ type: 'added', object })
        return () => {
          stop()
          listeners.delete(listener)
        }
      },
      get synced() {
        return nodeConfigs.synced
      },
      restoredAt: () => nodeConfigs.restoredAt(),
      onList: listener => nodeConfigs.onList(listener),
      problem: () => nodeConfigs.problem(),
    },
    get: key => documents.get(key),
    list: () => documents.list(),
    expanded(key) {
      const { frozen = [], ignored = 0, names = [] } = expansions.get(key) ?? {}
      const byName = new Map(entriesOf(key).map(entry => [entry.metadata.name, entry]))
      return { frozen, ignored, entries: [...names].flatMap(name => byName.get(name) ?? []) }
    },
    put(entry) {
      const stored = put(entry)
      markStale(bizKeyOf(keyOf(stored)) ?? '')
      return stored
    },
    drop(entry) {
      notify(entries.remove(entry))
      markStale(bizKeyOf(keyOf(entry)) ?? '')
    },
    ownerOf(entry) {
      const spellings = spellingsOf(entry.spec.instanceId ?? '')
      const byMachine = spellings.flatMap(spelling => nodeConfigs.by('machine', spelling))
      const byName = nodeConfigs.list().length ? nodeConfigs.by('node', nodeNameOf(entry)) : []
      const found = [...byMachine, ...byName.filter(({ spec }) => !spec.instanceId)]
      return found.find(({ metadata }) => !metadata.deletionTimestamp)
    },
    onStale(listener) {
      staleListeners.add(listener)
      return () => staleListeners.delete(listener)
    },
    reload() {
      for (const biz of documents.list()) expand(biz, [])
    },
  }

  function nodeNameOf({ spec }: NodeConfig): string {
    // The node name in a BizConfig is a hint: it counts only if that Node is this machine.
    const machine = options.machineOf(spec.nodeName) ?? ''
    return spellingsOf(machine).includes((spec.instanceId ?? '').toLowerCase()) ? spec.nodeName : ''
  }
}

/** Our own status writes come back as events: only metadata and the generation of the spec count. */
function hasChanged(object: BizConfig, old: BizConfig): boolean {
  const relevant = ({ metadata }: BizConfig) => {
    const { uid, generation, deletionTimestamp, finalizers, annotations } = metadata
    return { uid, generation, deletionTimestamp, finalizers, annotations }
  }
  return !equalJson(relevant(object), relevant(old))
}
