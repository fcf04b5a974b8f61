/**
 * From a MultiNicBizConfig to its entries: those it names, and those it names no longer and that have to be cleaned up. Pure.
 *
 * Only an entry whose own part changed is another one afterwards: an edit of one node concerns that node alone.
 */

import { equalJson } from '../../contract/json.ts'
import { type BizConfig, type BizNodeStatus, bizConfigAnnotations } from '../../contract/legacy/biz-config.ts'
import type { Indexes } from '../../contract/legacy/biz-nodes.ts'
import { type NodeConfig, nodeConfigAnnotations } from '../../contract/node-config.ts'
import { entryName, entryOf, hashOfEntry, type Past, pastIn, pastOf } from './entry.ts'

export type BizMode = 'dual' | 'node-only' | 'biz-read-only'

export interface Given {
  biz: BizConfig
  /** The entries as they are in this process. None at its start: then the status tells. */
  entries: readonly NodeConfig[]
  mode: BizMode
  now: Date
  /** Indexes that a MultiNicNodeConfig of the machine gives. */
  numbersOf(nodeId: string): Indexes
}

export interface Unfolded {
  entries: NodeConfig[]
  /** Nodes of a read-only document whose part is not what they were configured with. */
  frozen: BizNodeStatus[]
  /** How many nodes a change of a read-only document would concern. */
  ignored: number
}

export function isReadOnly({ metadata }: BizConfig, mode: BizMode): boolean {
  return mode === 'biz-read-only' || metadata.annotations?.[bizConfigAnnotations.readOnly] !== undefined
}

export function unfold(given: Given): Unfolded {
  const { biz, mode } = given
  const live = new Map(given.entries.map(entry => [entry.metadata.name, entry]))
  const records = recordsByName(biz)
  const readOnly = isReadOnly(biz, mode)
  const named = new Set<string>()
  const entries: NodeConfig[] = []
  const frozen: BizNodeStatus[] = []
  let ignored = 0

  for (const [name, node] of inTurns(biz, biz.spec.nodeConfigs)) {
    named.add(name)
    const before = live.get(name)
    const record = records.get(name)
    const past: Past = before ? pastOf(before) : pastIn(record, given.numbersOf(node.attachedNodeId))
    const entry = entryOf(biz, node, name, past)
    const changed = past.hash !== hashOfEntry(entry)
    if (readOnly && changed) ignored++
    if (!readOnly || !changed) entries.push(before ? unlessSame(before, entry) : entry)
    else if (before) entries.push(before)
    else frozen.push(record ?? { attachedNodeId: node.attachedNodeId, state: 'Pending', reason: 'ReadOnly' })
  }

  const left = [...new Set([...live.keys(), ...records.keys()])].filter(name => !named.has(name))
  for (const name of left) {
    const record = records.get(name)
    const entry = live.get(name) ?? (record && leftBehind(biz, name, record))
    if (!entry) continue
    if (readOnly) ignored++
    if (readOnly) entries.push(entry)
    else if (wasTouched(entry)) entries.push(ending(entry, given.now))
  }
  if (!biz.metadata.deletionTimestamp) return { entries, frozen, ignored }
  return { entries: entries.filter(wasTouched).map(entry => letGo(entry, biz, readOnly)), frozen, ignored }
}

/** Every entry by its own name, however often its node is named. */
function inTurns<T extends { attachedNodeId: string }>(biz: BizConfig, nodes: readonly T[]): [string, T][] {
  const turns = new Map<string, number>()
  return nodes.map(node => {
    const turn = (turns.get(node.attachedNodeId) ?? 0) + 1
    turns.set(node.attachedNodeId, turn)
    return [entryName(biz.metadata.name, node.attachedNodeId, turn), node]
  })
}

function recordsByName(biz: BizConfig): Map<string, BizNodeStatus> {
  return new Map(inTurns(biz, biz.status?.nodeStatuses ?? []))
}

function unlessSame(before: NodeConfig, after: NodeConfig): NodeConfig {
  const { resourceVersion: _, ...metadata } = before.metadata
  return equalJson({ ...before, metadata }, after) ? before : after
}

/** No longer in the document, and not in this process yet: its numbers are all that is known, and all that is needed. */
function leftBehind(biz: BizConfig, name: string, record: BizNodeStatus): NodeConfig {
  const past = pastIn(record, new Map())
  const interfaces = [...past.numbers.keys()].map(macAddress => ({ macAddress }))
  const { attachedNodeId, attachedNodeName } = record
  const node = { attachedNodeId, ...(attachedNodeName && { attachedNodeName }), interfaces }
  const entry = entryOf(biz, node, name, past)
  const { generation } = past
  return { ...entry, metadata: { ...entry.metadata, ...(generation !== undefined && { generation }) } }
}

/** Where no agent ever was, there is nothing to clean up. */
function wasTouched({ metadata }: NodeConfig): boolean {
  return metadata.finalizers !== undefined
}

function ending(entry: NodeConfig, now: Date): NodeConfig {
  if (entry.metadata.deletionTimestamp) return entry
  return { ...entry, metadata: { ...entry.metadata, deletionTimestamp: `${now.toISOString().slice(0, 19)}Z` } }
}

/** A read-only document takes nothing from a node, not even by its end. */
function letGo(entry: NodeConfig, { metadata: { deletionTimestamp = '' } }: BizConfig, readOnly: boolean): NodeConfig {
  const { annotations } = entry.metadata
  const stays = readOnly
    ? { ...annotations, [nodeConfigAnnotations.forceDelete]: bizConfigAnnotations.readOnly }
    : annotations
  return { ...entry, metadata: { ...entry.metadata, deletionTimestamp, ...(stays && { annotations: stays }) } }
}
