/**
 * One node of a MultiNicBizConfig in the shape of a MultiNicNodeConfig, so that the same planner and Jobs handle it.
 *
 * An entry exists in no API server. Its record in the status of the BizConfig holds what must survive a restart. Pure.
 */
import { hashOf } from '../../contract/hash.ts'
import { interfaceName } from '../../contract/interfaces.ts'
import type { BizConfig, BizNode, BizNodeStatus } from '../../contract/legacy/biz-config.ts'
import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import { formatIndexes, type Indexes, nodeSpecOf, parseIndexes } from '../../contract/legacy/biz-nodes.ts'
import {
  type NodeConfig,
  type NodeConfigStatus,
  nodeConfigAnnotations,
  nodeConfigFinalizer,
} from '../../contract/node-config.ts'
import { requestedOf } from '../plan/requested.ts'

/** The previous state of an entry, from this process or from the status of its BizConfig. */
export interface PreviousState {
  indexes: Indexes
  hash?: string
  generation?: number
  status?: NodeConfigStatus
  annotations?: Record<string, string>
  /** An agent ran on the node, so there may be something to clean up. */
  touched?: boolean
  /** An older controller configured the node without recording the indexes of its interfaces. */
  indexesUnknown?: boolean
}

/** Objects in Kubernetes have no colon in their name. A repeated node gets a suffix. */
export function entryName(biz: string, nodeId: string, occurrence = 1): string {
  return occurrence > 1 ? `${biz}:${nodeId}:${occurrence}` : `${biz}:${nodeId}`
}

/** The key of the BizConfig of an entry; undefined for the key of a MultiNicNodeConfig. */
export function bizKeyOf(entryKey: string): string | undefined {
  const colon = entryKey.indexOf(':')
  return colon < 0 ? undefined : entryKey.slice(0, colon)
}

export function entryHash(entry: NodeConfig): string {
  return requestedOf(entry).specHash.slice(0, 16)
}

export function entryOf(biz: BizConfig, node: BizNode, name: string, previous: PreviousState): NodeConfig {
  const { metadata } = biz
  const entry: NodeConfig = {
    apiVersion: biz.apiVersion,
    kind: bizConfigs.kind,
    metadata: {
      name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
      uid: `${metadata.uid}-${hashOf(name).slice(0, 8)}`,
      ...(metadata.creationTimestamp && { creationTimestamp: metadata.creationTimestamp }),
      ...(previous.touched && { finalizers: [nodeConfigFinalizer] }),
      annotations: annotationsFor(biz, previous),
    },
    spec: nodeSpecOf(biz, node, {
      nodeName: node.attachedNodeName || node.attachedNodeId,
      known: previous.indexes,
    }),
  }
  const isUnchanged = previous.hash !== undefined && previous.hash === entryHash(entry)
  // An entry without known indexes starts with a check, in the generation before that of the BizConfig.
  const startsWithCheck = entry.metadata.annotations?.[nodeConfigAnnotations.adopt] !== undefined
  const generation = isUnchanged ? previous.generation : (metadata.generation ?? 1) - (startsWithCheck ? 1 : 0)
  const { observedGeneration, ...status } = previous.status ?? {}
  // The part of this node changed, even if the generation looks the same.
  const isCurrent = isUnchanged || observedGeneration !== generation
  return {
    ...entry,
    metadata: { ...entry.metadata, ...(generation !== undefined && { generation }) },
    ...(previous.status && {
      status: { ...status, ...(isCurrent && observedGeneration !== undefined && { observedGeneration }) },
    }),
  }
}

/** Annotations of the BizConfig apply to each of its nodes. */
function annotationsFor(
  { metadata: { annotations = {} } }: BizConfig,
  previous: PreviousState,
): Record<string, string> {
  const { paused, retry, forceDelete, adopt } = nodeConfigAnnotations
  const inherited = [paused, retry, forceDelete].flatMap(name => {
    // An entry keeps its copy of the retry annotation until the retry starts: the BizConfig has lost it by then.
    const value = annotations[name] ?? (name === retry ? previous.annotations?.[retry] : undefined)
    return value === undefined ? [] : [[name, value] as const]
  })
  const startsWithCheck = previous.indexesUnknown || previous.annotations?.[adopt] !== undefined
  return Object.fromEntries([...inherited, ...(startsWithCheck ? [[adopt, 'indexes'] as const] : [])])
}

export function previousStateOf(entry: NodeConfig): PreviousState {
  const { generation, annotations, finalizers } = entry.metadata
  return {
    indexes: parseIndexes(formatIndexes(entry.spec.interfaces)),
    hash: entryHash(entry),
    ...(generation !== undefined && { generation }),
    ...(entry.status && { status: entry.status }),
    ...(annotations && { annotations }),
    touched: finalizers !== undefined,
  }
}

/** `otherwise` are the indexes for a record that has none. */
export function previousStateIn(record: BizNodeStatus | undefined, otherwise: Indexes): PreviousState {
  const indexes = record?.indexes?.length ? parseIndexes(record.indexes) : otherwise
  const touched = record?.lastJobName !== undefined
  if (record?.specHash === undefined)
    return { indexes, touched, indexesUnknown: record?.state === 'Configured' && indexes.size === 0 }
  return {
    indexes,
    touched,
    hash: record.specHash,
    ...(record.observedGeneration !== undefined && { generation: record.observedGeneration }),
    status: statusIn(record),
  }
}

function statusIn(record: BizNodeStatus): NodeConfigStatus {
  const { state = 'Pending', reason, message, indexes, lastProcessed } = record
  const isConfigured = state === 'Configured'
  const readyReason = reason ?? (isConfigured ? 'AllInterfacesConfigured' : 'Applying')
  return {
    ...(record.observedGeneration !== undefined && { observedGeneration: record.observedGeneration }),
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(record.lastJobName !== undefined && { lastJobName: record.lastJobName }),
    ...(record.bootID !== undefined && { bootID: record.bootID }),
    failedAttempts: record.failedAttempts ?? 0,
    state,
    conditions: [
      {
        type: 'Ready',
        status: isConfigured ? 'True' : 'False',
        reason: readyReason,
        ...(message !== undefined && { message }),
      },
    ],
    interfaceStatuses: [...parseIndexes(indexes)].map(([macAddress, index]) => ({
      id: index,
      name: interfaceName(index),
      macAddress,
      status: isConfigured ? 'Configured' : 'Pending',
      reason: isConfigured ? 'Configured' : readyReason,
      ...(isConfigured && lastProcessed !== undefined && { lastConfigured: lastProcessed }),
    })),
  }
}

/** The record of an entry in the status of its BizConfig: short, because a BizConfig may have thousands of nodes. */
export function recordOf(entry: NodeConfig): BizNodeStatus {
  const { spec, status = {} } = entry
  const { state = 'Pending', lastProcessed, lastJobName, bootID, failedAttempts, observedGeneration } = status
  const ready = state === 'Configured' ? undefined : status.conditions?.find(({ type }) => type === 'Ready')
  return {
    attachedNodeId: spec.instanceId ?? '',
    ...(spec.nodeName !== spec.instanceId && { attachedNodeName: spec.nodeName }),
    state,
    ...(ready?.reason !== undefined && { reason: ready.reason }),
    ...(ready?.message && { message: ready.message.slice(0, 256) }),
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
    ...(observedGeneration !== undefined && { observedGeneration, specHash: entryHash(entry) }),
    ...(bootID !== undefined && { bootID }),
    ...(failedAttempts && { failedAttempts }),
    indexes: formatIndexes(spec.interfaces),
  }
}
