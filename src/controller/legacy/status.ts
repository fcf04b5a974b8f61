/**
 * What the status of a MultiNicBizConfig says of all its nodes together. Pure: undefined when it says so already.
 */

import { hashOf } from '../../contract/hash.ts'
import { equalJson } from '../../contract/json.ts'
import type { BizConfig, BizConfigStatus, BizNodeStatus } from '../../contract/legacy/biz-config.ts'
import type { ConditionStatus, NodeConfig } from '../../contract/node-config.ts'
import type { BizConfigReason } from '../../contract/reasons/catalogue.ts'
import { recordOf } from './entry.ts'
import type { Unfolded } from './expand.ts'

export interface Folding extends Unfolded {
  biz: BizConfig
  /** What the status says now, as far as we know. */
  before: BizConfigStatus
  readOnly: boolean
  now: Date
  /** The MultiNicNodeConfig that has the node of an entry. */
  ownerOf(entry: NodeConfig): NodeConfig | undefined
}

export function nextBizStatus(folding: Folding): BizConfigStatus | undefined {
  const { biz, before, frozen } = folding
  const told = folding.entries.map(entry => ({ entry, owner: folding.ownerOf(entry) }))
  const nodeStatuses = [...told.map(({ entry, owner }) => toldOf(entry, owner)), ...frozen]
  const count = (state: BizNodeStatus['state']) => nodeStatuses.filter(node => node.state === state).length
  const summary: Counts = {
    totalNodes: nodeStatuses.length,
    configuredNodes: count('Configured'),
    failedNodes: count('Failed'),
    pendingNodes: count('Pending') + count('InProgress'),
  }
  const { generation } = biz.metadata
  const owners = told.flatMap(({ owner }) => owner?.metadata.name ?? [])
  const next: BizConfigStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    observedSpecHash: biz.spec.specHash || hashOf(biz.spec.nodeConfigs).slice(0, 64),
    conditions: conditionsAfter(folding, summary, owners),
    nodeStatuses,
    summary,
  }
  return equalJson(next, before) ? undefined : next
}

/** A node that a MultiNicNodeConfig has is as that one says. */
function toldOf(entry: NodeConfig, owner: NodeConfig | undefined): BizNodeStatus {
  const { message: _, ...record } = recordOf(entry)
  if (!owner) return recordOf(entry)
  const { state = 'Pending', lastProcessed, lastJobName } = owner.status ?? {}
  return {
    ...record,
    state,
    reason: 'OwnedByNodeConfig',
    message: `MultiNicNodeConfig ${owner.metadata.name} has it`.slice(0, 256),
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
  }
}

interface Counts {
  totalNodes: number
  configuredNodes: number
  failedNodes: number
  pendingNodes: number
}

interface Said {
  type: string
  holds: boolean
  reason: BizConfigReason
  message: string
}

function conditionsAfter(
  { biz, before, ignored, readOnly, now }: Folding,
  { totalNodes, configuredNodes, failedNodes, pendingNodes }: Counts,
  owners: readonly string[],
): ConditionStatus[] {
  const nodes = (count: number) => `${count} ${count === 1 ? 'node' : 'nodes'}`
  const all = totalNodes === configuredNodes
  const ready: [BizConfigReason, string] = all
    ? [totalNodes ? 'AllNodesConfigured' : 'NoNodes', `${configuredNodes} of ${nodes(totalNodes)} configured`]
    : failedNodes
      ? ['NodesFailed', `${failedNodes} of ${nodes(totalNodes)} failed; nodeStatuses tells of each`]
      : ['ProcessingNodes', `${configuredNodes} of ${nodes(totalNodes)} configured`]
  const said: Said[] = [
    {
      type: 'InProgress',
      holds: pendingNodes > 0,
      reason: pendingNodes > 0 ? 'ProcessingNodes' : 'AllNodesProcessed',
      message: pendingNodes > 0 ? `Processing network configurations for ${nodes(pendingNodes)}` : 'no node waits',
    },
    {
      type: 'Applied',
      holds: pendingNodes === 0,
      reason: pendingNodes === 0 ? 'AllNodesProcessed' : 'ProcessingNodes',
      message: `${nodes(totalNodes - pendingNodes)} of ${totalNodes} were worked on`,
    },
    { type: 'Ready', holds: all, reason: ready[0], message: ready[1] },
    {
      type: 'Overridden',
      holds: owners.length > 0,
      reason: owners.length ? 'OwnedByNodeConfig' : 'NotOverridden',
      message: owners.length ? `${nodes(owners.length)} of ${totalNodes}: ${someOf(owners)}` : '',
    },
    {
      type: 'ReadOnly',
      holds: readOnly,
      reason: readOnly ? 'ReadOnly' : 'Writable',
      message: ignored ? `a change of ${nodes(ignored)} is ignored` : '',
    },
  ]
  const at = `${now.toISOString().slice(0, 19)}Z`
  return said.map(({ type, holds, reason, message }) => {
    const status = holds ? 'True' : 'False'
    const old = before.conditions?.find(condition => condition.type === type)
    const since = old?.status === status ? old.lastTransitionTime : undefined
    const { generation } = biz.metadata
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: since ?? at,
      ...(generation !== undefined && { observedGeneration: generation }),
    }
  })
}

function someOf(names: readonly string[]): string {
  return names.length > 10 ? `${names.slice(0, 10).join(', ')} and ${names.length - 10} more` : names.join(', ')
}
