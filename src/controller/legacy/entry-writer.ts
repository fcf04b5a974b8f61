/**
 * Writes to the entries of a MultiNicBizConfig. An entry exists only in this process: its status goes to the source, which
 * adds it to the status of the BizConfig later, and its finalizer goes to the BizConfig.
 */
import { interfaceIndex } from '../../contract/interfaces.ts'
import { applyMergePatch } from '../../contract/json.ts'
import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import { withIndexes } from '../../contract/legacy/biz-nodes.ts'
import {
  type NodeConfig,
  type NodeConfigStatus,
  nodeConfigAnnotations,
  nodeConfigFinalizer,
} from '../../contract/node-config.ts'
import type { ObjectMeta } from '../../contract/object.ts'
import type { Kube } from '../../kube/api.ts'
import { KubeError } from '../../kube/errors.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { keyOf, parseKey } from '../../kube/keys.ts'
import type { ConfigWriter, MetadataPatch } from '../config-writer.ts'
import { isLegacyEntry } from '../plan/config-status.ts'
import { bizKeyOf } from './entry.ts'
import type { BizConfigSource } from './source.ts'

/** Passes writes to configs that are no entries on to `others`. */
export function entryWriter(kube: Pick<Kube, 'patch'>, source: BizConfigSource, others: ConfigWriter): ConfigWriter {
  const pendingFinalizers = new Map<string, Promise<unknown>>()

  /** Many entries need it at the same time: one request serves all. */
  function addFinalizer(bizKey: string): Promise<unknown> {
    const biz = source.get(bizKey)
    const { finalizers = [], resourceVersion, uid = '' } = biz?.metadata ?? {}
    if (!biz || finalizers.includes(nodeConfigFinalizer)) return Promise.resolve()
    const metadata = { finalizers: [...finalizers, nodeConfigFinalizer], resourceVersion }
    const request = pendingFinalizers.get(uid) ?? kube.patch(bizConfigs, parseKey(bizKey), { metadata })
    pendingFinalizers.set(uid, request)
    // A failed request may be repeated; after a successful one the cache soon shows the finalizer.
    request.catch(() => pendingFinalizers.delete(uid))
    return request
  }

  async function patchMetadata(config: NodeConfig, { finalizers, annotations }: MetadataPatch): Promise<NodeConfig> {
    const key = keyOf(config)
    if (finalizers && !finalizers.includes(nodeConfigFinalizer)) {
      const entry = source.configs.get(key)
      if (entry) source.drop(entry)
      return config
    }
    if (finalizers) await addFinalizer(bizKeyOf(key) ?? '')
    const entry = source.configs.get(key)
    // An edit removed the node from the BizConfig meanwhile: it must not get an agent.
    if (!entry) throw new Error(`${config.metadata.name} is no longer in its MultiNicBizConfig`)
    const patch = { ...(finalizers && { finalizers }), ...(annotations && { annotations }) }
    return source.put({ ...entry, metadata: applyMergePatch(entry.metadata, patch) as ObjectMeta })
  }

  async function patchStatus(config: NodeConfig, patch: object): Promise<NodeConfig> {
    const entry = source.configs.get(keyOf(config))
    // Like an object that was deleted: the status of an entry that is gone must not be recorded.
    if (!entry) throw new KubeError(404, 'NotFound', `${config.metadata.name} is no longer in its MultiNicBizConfig`)
    const status = applyMergePatch(entry.status, patch) as NodeConfigStatus
    return source.put(adoptIndexes({ ...entry, status }))
  }

  return {
    patchMetadata: (config, patch) =>
      isLegacyEntry(config) ? patchMetadata(config, patch) : others.patchMetadata(config, patch),
    patchStatus: (config, patch) =>
      isLegacyEntry(config) ? patchStatus(config, patch) : others.patchStatus(config, patch),
  }
}

/**
 * An older controller configured the node without recording interface indexes. The first check found the interfaces under
 * their current names: the entry adopts those indexes, so that the next agent renames nothing.
 */
function adoptIndexes(entry: NodeConfig): NodeConfig {
  const { annotations = {} } = entry.metadata
  const { adopt } = nodeConfigAnnotations
  const statuses = entry.status?.interfaceStatuses ?? []
  if (annotations[adopt] === undefined || !statuses.some(({ observed }) => observed)) return entry
  const found = new Map(
    statuses.flatMap(({ macAddress = '', observed }) => {
      const index = interfaceIndex(observed?.name ?? '')
      return index === undefined ? [] : [[macAddress, index]]
    }),
  )
  const { [adopt]: _, ...rest } = annotations
  // Without state and observedGeneration the next plan is an apply.
  const { lastJobName, lastProcessed } = entry.status ?? {}
  const interfaceStatuses = statuses.map(nic => ({ ...nic, lastConfigured: nic.lastChecked }))
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

/** Events about an entry become Events about its BizConfig, and name the node. */
export function entryEvents(events: EventRecorder, source: BizConfigSource): EventRecorder {
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
