/**
 * One node of a MultiNicBizConfig in the shape of a MultiNicNodeConfig, so that the same planner and the same Jobs serve it.
 *
 * An entry is in no API server. What must outlive this process is its record in the status of the BizConfig. Pure.
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
import { workOf } from '../plan/work.ts'

/** What is known of a node from before, in this process or in the status. */
export interface Past {
  numbers: Indexes
  hash?: string
  generation?: number
  status?: NodeConfigStatus
  annotations?: Record<string, string>
  /** An agent was sent to it, so there may be something to clean up. */
  held?: boolean
  /** An older controller configured it, and nobody has told which numbers its interfaces have. */
  unnumbered?: boolean
}

export function isEntry({ kind }: Pick<NodeConfig, 'kind'>): boolean {
  return kind === bizConfigs.kind
}

/** No object of Kubernetes has a colon in its name. A node that is named again has its turn behind. */
export function entryName(biz: string, nodeId: string, turn = 1): string {
  return turn > 1 ? `${biz}:${nodeId}:${turn}` : `${biz}:${nodeId}`
}

/** The key of its BizConfig; undefined for the key of a MultiNicNodeConfig. */
export function bizKeyOf(key: string): string | undefined {
  const colon = key.indexOf(':')
  return colon < 0 ? undefined : key.slice(0, colon)
}

export function hashOfEntry(entry: NodeConfig): string {
  return workOf(entry).specHash.slice(0, 16)
}

export function entryOf(biz: BizConfig, node: BizNode, name: string, past: Past): NodeConfig {
  const { metadata } = biz
  const entry: NodeConfig = {
    apiVersion: biz.apiVersion,
    kind: bizConfigs.kind,
    metadata: {
      name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
      uid: `${metadata.uid}-${hashOf(name).slice(0, 8)}`,
      ...(metadata.creationTimestamp && { creationTimestamp: metadata.creationTimestamp }),
      ...(past.held && { finalizers: [nodeConfigFinalizer] }),
      annotations: annotationsFor(biz, past),
    },
    spec: nodeSpecOf(biz, node, {
      nodeName: node.attachedNodeName || node.attachedNodeId,
      known: past.numbers,
    }),
  }
  const same = past.hash !== undefined && past.hash === hashOfEntry(entry)
  // The first look of an entry without numbers is of a generation before the document's own.
  const looks = entry.metadata.annotations?.[nodeConfigAnnotations.adopt] !== undefined
  const generation = same ? past.generation : (metadata.generation ?? 1) - (looks ? 1 : 0)
  const { observedGeneration, ...status } = past.status ?? {}
  // The part of this node is another one, whatever the number of the document says.
  const current = same || observedGeneration !== generation
  return {
    ...entry,
    metadata: { ...entry.metadata, ...(generation !== undefined && { generation }) },
    ...(past.status && {
      status: { ...status, ...(current && observedGeneration !== undefined && { observedGeneration }) },
    }),
  }
}

/** What a person says of the whole document holds for each of its nodes. */
function annotationsFor({ metadata: { annotations = {} } }: BizConfig, past: Past): Record<string, string> {
  const { paused, retry, forceDelete, adopt } = nodeConfigAnnotations
  const said = [paused, retry, forceDelete].flatMap(name => {
    // A retry that was copied stays until it is carried out: on the document it is gone by then.
    const value = annotations[name] ?? (name === retry ? past.annotations?.[retry] : undefined)
    return value === undefined ? [] : [[name, value] as const]
  })
  const looks = past.unnumbered || past.annotations?.[adopt] !== undefined
  return Object.fromEntries([...said, ...(looks ? [[adopt, 'numbers'] as const] : [])])
}

export function pastOf(entry: NodeConfig): Past {
  const { generation, annotations, finalizers } = entry.metadata
  return {
    numbers: parseIndexes(formatIndexes(entry.spec.interfaces)),
    hash: hashOfEntry(entry),
    ...(generation !== undefined && { generation }),
    ...(entry.status && { status: entry.status }),
    ...(annotations && { annotations }),
    held: finalizers !== undefined,
  }
}

export function pastIn(record: BizNodeStatus | undefined, elsewhere: Indexes): Past {
  const numbers = record?.numbers?.length ? parseIndexes(record.numbers) : elsewhere
  const held = record?.lastJobName !== undefined
  if (record?.specHash === undefined)
    return { numbers, held, unnumbered: record?.state === 'Configured' && numbers.size === 0 }
  return {
    numbers,
    held,
    hash: record.specHash,
    ...(record.observedGeneration !== undefined && { generation: record.observedGeneration }),
    status: statusIn(record),
  }
}

function statusIn(record: BizNodeStatus): NodeConfigStatus {
  const { state = 'Pending', reason, message, numbers, lastProcessed } = record
  const done = state === 'Configured'
  const ready = reason ?? (done ? 'AllInterfacesConfigured' : 'Applying')
  return {
    ...(record.observedGeneration !== undefined && { observedGeneration: record.observedGeneration }),
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(record.lastJobName !== undefined && { lastJobName: record.lastJobName }),
    ...(record.bootID !== undefined && { bootID: record.bootID }),
    failedAttempts: record.failedAttempts ?? 0,
    state,
    conditions: [
      { type: 'Ready', status: done ? 'True' : 'False', reason: ready, ...(message !== undefined && { message }) },
    ],
    interfaceStatuses: [...parseIndexes(numbers)].map(([macAddress, id]) => ({
      id,
      name: interfaceName(id),
      macAddress,
      status: done ? 'Configured' : 'Pending',
      reason: done ? 'Configured' : ready,
      ...(done && lastProcessed !== undefined && { lastConfigured: lastProcessed }),
    })),
  }
}

/** What the status of the BizConfig keeps of the entry: little, because there may be thousands. */
export function recordOf(entry: NodeConfig): BizNodeStatus {
  const { spec, status = {} } = entry
  const { state = 'Pending', lastProcessed, lastJobName, bootID, failedAttempts, observedGeneration } = status
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  const told = state !== 'Configured' && ready !== undefined
  return {
    attachedNodeId: spec.instanceId ?? '',
    ...(spec.nodeName !== spec.instanceId && { attachedNodeName: spec.nodeName }),
    state,
    ...(told && ready.reason !== undefined && { reason: ready.reason }),
    ...(told && ready.message && { message: ready.message.slice(0, 256) }),
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
    ...(observedGeneration !== undefined && { observedGeneration, specHash: hashOfEntry(entry) }),
    ...(bootID !== undefined && { bootID }),
    ...(failedAttempts && { failedAttempts }),
    numbers: formatIndexes(spec.interfaces),
  }
}
