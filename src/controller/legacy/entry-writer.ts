/**
 * Where the writes for an entry go: what it says into this process and then, folded, into the status of its BizConfig; what it
 * needs held (the finalizer) onto the BizConfig; its Events about the BizConfig. Everything else passes unchanged.
 */

import { interfaceIndex } from '../../contract/interfaces.ts'
import { applyMergePatch } from '../../contract/json.ts'
import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import { withIndexes } from '../../contract/legacy/biz-nodes.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigFinalizer, nodeConfigs } from '../../contract/node-config.ts'
import type { ObjectMeta } from '../../contract/object.ts'
import type { Kube } from '../../kube/api.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { keyOf, keyText, parseKey } from '../../kube/keys.ts'
import type { Key, KubeObject, Resource } from '../../kube/types.ts'
import { bizKeyOf } from './entry.ts'
import type { BizSource } from './source.ts'

export function entryHands(kube: Kube, source: BizSource): Kube {
  const holding = new Map<string, Promise<unknown>>()

  function entryAt(resource: Resource, key: Key): NodeConfig | undefined {
    if (resource.plural !== nodeConfigs.plural || bizKeyOf(keyText(key)) === undefined) return undefined
    return source.configs.get(keyText(key))
  }

  /** Many entries want it at once: it is asked for once. */
  function hold(bizKey: string): Promise<unknown> {
    const biz = source.get(bizKey)
    const { finalizers = [], resourceVersion, uid = '' } = biz?.metadata ?? {}
    if (!biz || finalizers.includes(nodeConfigFinalizer)) return Promise.resolve()
    const metadata = { finalizers: [...finalizers, nodeConfigFinalizer], resourceVersion }
    const asked = holding.get(uid) ?? kube.patch(bizConfigs, parseKey(bizKey), { metadata })
    holding.set(uid, asked)
    // A refusal may be tried again; where it went well the cache shows it soon.
    asked.catch(() => holding.delete(uid))
    return asked
  }

  async function patchEntry(entry: NodeConfig, { metadata = {} }: { metadata?: MetadataPatch }): Promise<NodeConfig> {
    const { finalizers, annotations } = metadata
    if (finalizers && !finalizers.includes(nodeConfigFinalizer)) {
      source.drop(entry)
      return entry
    }
    if (finalizers) await hold(bizKeyOf(keyOf(entry)) ?? '')
    const now = source.configs.get(keyOf(entry))
    // The document was edited meanwhile: an agent for this node would come too late.
    if (!now) throw new Error(`${entry.metadata.name} has left its document`)
    return source.put({
      ...now,
      metadata: applyMergePatch(now.metadata, {
        ...(finalizers && { finalizers }),
        ...(annotations && { annotations }),
      }) as ObjectMeta,
    })
  }

  return {
    ...kube,
    async patch<T extends KubeObject>(resource: Resource<T>, key: Key, patch: object, options = {}): Promise<T> {
      const entry = entryAt(resource, key)
      if (!entry) return kube.patch(resource, key, patch, options)
      return (await patchEntry(entry, patch)) as KubeObject as T
    },
    async patchStatus<T extends KubeObject>(resource: Resource<T>, key: Key, patch: object, options = {}): Promise<T> {
      const entry = entryAt(resource, key)
      if (!entry) return kube.patchStatus(resource, key, patch, options)
      const status = applyMergePatch(entry.status, patch) as NonNullable<NodeConfig['status']>
      return source.put(withNumbers({ ...entry, status })) as KubeObject as T
    },
  }
}

type MetadataPatch = Omit<Partial<ObjectMeta>, 'annotations'> & { annotations?: Record<string, string | null> }

/**
 * An older controller configured the node and told no numbers. A first look has found the interfaces under the names they
 * have: these are their numbers from now on, and the agent that follows renames nothing.
 */
function withNumbers(entry: NodeConfig): NodeConfig {
  const { annotations = {} } = entry.metadata
  const { adopt } = nodeConfigAnnotations
  const seen = entry.status?.interfaceStatuses ?? []
  if (annotations[adopt] === undefined || !seen.some(({ observed }) => observed)) return entry
  const found = new Map(
    seen.flatMap(({ macAddress = '', observed }) => {
      const id = interfaceIndex(observed?.name ?? '')
      return id === undefined ? [] : [[macAddress, id]]
    }),
  )
  const { [adopt]: _, ...rest } = annotations
  // Neither a state nor a generation: the next plan is an agent that applies.
  const { lastJobName, lastProcessed } = entry.status ?? {}
  const interfaceStatuses = seen.map(nic => ({ ...nic, lastConfigured: nic.lastChecked }))
  return {
    ...entry,
    metadata: { ...entry.metadata, annotations: rest, generation: (entry.metadata.generation ?? 0) + 1 },
    spec: { ...entry.spec, interfaces: withIndexes(entry.spec.interfaces, found) },
    status: {
      ...(lastJobName !== undefined && { lastJobName }),
      ...(lastProcessed !== undefined && { lastProcessed }),
      interfaceStatuses,
    },
  }
}

/** Events about an entry are Events about its BizConfig, and name the node. */
export function entryEvents(events: EventRecorder, source: BizSource): EventRecorder {
  return {
    ...events,
    event(object, type, reason, message) {
      const bizKey = bizKeyOf(keyOf(object))
      if (bizKey === undefined) return events.event(object, type, reason, message)
      const { nodeName, instanceId } = source.configs.get(keyOf(object))?.spec ?? {}
      const biz = source.get(bizKey)
      if (biz) events.event(biz, type, reason, `${nodeName ?? instanceId ?? object.metadata.name}: ${message}`)
    },
  }
}
