/**
 * Expands a MultiNicBizConfig to its entries: the nodes it names, and the nodes it no longer names and that need a cleanup.
 * Pure.
 *
 * An entry changes only if the part of its own node changed: an edit of one node leaves the others alone.
 */
import { equalJson } from '../../contract/json.ts'
import { type BizConfig, type BizNodeStatus, bizConfigAnnotations } from '../../contract/legacy/biz-config.ts'
import type { Indexes } from '../../contract/legacy/biz-nodes.ts'
import { type NodeConfig, nodeConfigAnnotations } from '../../contract/node-config.ts'
import type { BizConfigMode } from '../config.ts'
import { entryHash, entryName, entryOf, type PreviousState, previousStateIn, previousStateOf } from './entry.ts'

export interface ExpandInput {
  biz: BizConfig
  /** The entries in this process. Empty at its start: the status of the BizConfig replaces them then. */
  entries: readonly NodeConfig[]
  mode: BizConfigMode
  now: Date
  /** Interface indexes from a MultiNicNodeConfig of the same machine. */
  indexesOf(nodeId: string): Indexes
}

export interface Expanded {
  entries: NodeConfig[]
  /** Records of nodes whose part of a read-only BizConfig differs from what they were configured with. */
  frozen: BizNodeStatus[]
  /** How many nodes the ignored change of a read-only BizConfig affects. */
  ignored: number
}

export function isReadOnly({ metadata }: BizConfig, mode: BizConfigMode): boolean {
  return mode === 'biz-read-only' || metadata.annotations?.[bizConfigAnnotations.readOnly] !== undefined
}

export function expandBizConfig({ biz, mode, now, indexesOf, entries: current }: ExpandInput): Expanded {
  const live = new Map(current.map(entry => [entry.metadata.name, entry]))
  const records = new Map(withEntryNames(biz, biz.status?.nodeStatuses ?? []))
  const readOnly = isReadOnly(biz, mode)
  const named = new Set<string>()
  const entries: NodeConfig[] = []
  const frozen: BizNodeStatus[] = []
  let ignored = 0

  for (const [name, node] of withEntryNames(biz, biz.spec.nodeConfigs)) {
    named.add(name)
    const before = live.get(name)
    const record = records.get(name)
    const previous: PreviousState = before
      ? previousStateOf(before)
      : previousStateIn(record, indexesOf(node.attachedNodeId))
    const entry = entryOf(biz, node, name, previous)
    const changed = previous.hash !== entryHash(entry)
    if (readOnly && changed) ignored++
    if (!readOnly || !changed) entries.push(before ? unlessEqual(before, entry) : entry)
    else if (before) entries.push(before)
    else frozen.push(record ?? { attachedNodeId: node.attachedNodeId, state: 'Pending', reason: 'ReadOnly' })
  }

  const removed = [...new Set([...live.keys(), ...records.keys()])].filter(name => !named.has(name))
  for (const name of removed) {
    const record = records.get(name)
    const entry = live.get(name) ?? (record && entryFromRecord(biz, name, record))
    if (!entry) continue
    if (readOnly) ignored++
    if (readOnly) entries.push(entry)
    else if (wasTouched(entry)) entries.push(markDeleted(entry, now))
  }
  if (!biz.metadata.deletionTimestamp) return { entries, frozen, ignored }
  return { entries: entries.filter(wasTouched).map(entry => deleteWith(biz, entry, readOnly)), frozen, ignored }
}

/** Each node with the name of its entry. A BizConfig may list a node more than once. */
function withEntryNames<T extends { attachedNodeId: string }>(biz: BizConfig, nodes: readonly T[]): [string, T][] {
  const occurrences = new Map<string, number>()
  return nodes.map(node => {
    const occurrence = (occurrences.get(node.attachedNodeId) ?? 0) + 1
    occurrences.set(node.attachedNodeId, occurrence)
    return [entryName(biz.metadata.name, node.attachedNodeId, occurrence), node]
  })
}

function unlessEqual(before: NodeConfig, after: NodeConfig): NodeConfig {
  const { resourceVersion: _, ...metadata } = before.metadata
  return equalJson({ ...before, metadata }, after) ? before : after
}

/** For a node that left the BizConfig before this process started: a cleanup needs only the interface indexes. */
function entryFromRecord(biz: BizConfig, name: string, record: BizNodeStatus): NodeConfig {
  const previous = previousStateIn(record, new Map())
  const interfaces = [...previous.indexes.keys()].map(macAddress => ({ macAddress }))
  const { attachedNodeId, attachedNodeName } = record
  const node = { attachedNodeId, ...(attachedNodeName && { attachedNodeName }), interfaces }
  const entry = entryOf(biz, node, name, previous)
  const { generation } = previous
  return { ...entry, metadata: { ...entry.metadata, ...(generation !== undefined && { generation }) } }
}

/** An agent ran on the node, so there may be something to clean up. */
function wasTouched({ metadata }: NodeConfig): boolean {
  return metadata.finalizers !== undefined
}

function markDeleted(entry: NodeConfig, now: Date): NodeConfig {
  if (entry.metadata.deletionTimestamp) return entry
  return { ...entry, metadata: { ...entry.metadata, deletionTimestamp: `${now.toISOString().slice(0, 19)}Z` } }
}

/** Deleting a read-only BizConfig leaves the interfaces on the nodes. */
function deleteWith(
  { metadata: { deletionTimestamp = '' } }: BizConfig,
  entry: NodeConfig,
  readOnly: boolean,
): NodeConfig {
  const annotations = readOnly
    ? { ...entry.metadata.annotations, [nodeConfigAnnotations.forceDelete]: bizConfigAnnotations.readOnly }
    : entry.metadata.annotations
  return { ...entry, metadata: { ...entry.metadata, deletionTimestamp, ...(annotations && { annotations }) } }
}
