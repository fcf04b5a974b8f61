/**
 * Computes the next status of a MultiNicBizConfig from its entries. Pure: undefined when the status is up to date.
 */
import type { ConditionType } from '../../contract/condition-types.ts'
import { hashOf } from '../../contract/hash.ts'
import { equalJson } from '../../contract/json.ts'
import type { BizConfig, BizConfigStatus, BizNodeStatus } from '../../contract/legacy/biz-config.ts'
import type { ConditionStatus, NodeConfig } from '../../contract/node-config.ts'
import type { BizConfigReason } from '../../contract/reasons/catalogue.ts'
import { recordOf } from './entry.ts'
import type { Expanded } from './expand.ts'

export interface BizConfigStatusInput extends Expanded {
  biz: BizConfig
  /** The last known status. */
  before: BizConfigStatus
  readOnly: boolean
  now: Date
  /** The MultiNicNodeConfig that manages the node of an entry. */
  ownerOf(entry: NodeConfig): NodeConfig | undefined
}

export function nextBizConfigStatus(input: BizConfigStatusInput): BizConfigStatus | undefined {
  const { biz, before, frozen } = input
  const nodes = input.entries.map(entry => ({ entry, owner: input.ownerOf(entry) }))
  const nodeStatuses = [...nodes.map(({ entry, owner }) => nodeStatusOf(entry, owner)), ...frozen]
  const count = (state: BizNodeStatus['state']) => nodeStatuses.filter(node => node.state === state).length
  const summary: Counts = {
    totalNodes: nodeStatuses.length,
    configuredNodes: count('Configured'),
    failedNodes: count('Failed'),
    pendingNodes: count('Pending') + count('InProgress'),
  }
  const { generation } = biz.metadata
  const owners = nodes.flatMap(({ owner }) => owner?.metadata.name ?? [])
  const next: BizConfigStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    observedSpecHash: biz.spec.specHash || hashOf(biz.spec.nodeConfigs).slice(0, 64),
    conditions: nextConditions(input, summary, owners),
    nodeStatuses,
    summary,
  }
  return equalJson(next, before) ? undefined : next
}

/** A node that a MultiNicNodeConfig manages shows the state of that config. */
function nodeStatusOf(entry: NodeConfig, owner: NodeConfig | undefined): BizNodeStatus {
  const { message: _, ...record } = recordOf(entry)
  if (!owner) return recordOf(entry)
  const { state = 'Pending', lastProcessed, lastJobName } = owner.status ?? {}
  return {
    ...record,
    state,
    reason: 'OwnedByNodeConfig',
    message: `managed by MultiNicNodeConfig ${owner.metadata.name}`.slice(0, 256),
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

interface Condition {
  type: ConditionType<'MultiNicBizConfig'>
  isTrue: boolean
  reason: BizConfigReason
  message: string
}

function nextConditions(
  { biz, before, ignored, readOnly, now }: BizConfigStatusInput,
  { totalNodes, configuredNodes, failedNodes, pendingNodes }: Counts,
  owners: readonly string[],
): ConditionStatus[] {
  const nodes = (count: number) => `${count} ${count === 1 ? 'node' : 'nodes'}`
  const all = totalNodes === configuredNodes
  const ready: [BizConfigReason, string] = all
    ? [totalNodes ? 'AllNodesConfigured' : 'NoNodes', `${configuredNodes} of ${nodes(totalNodes)} configured`]
    : failedNodes
      ? ['NodesFailed', `${failedNodes} of ${nodes(totalNodes)} failed: see status.nodeStatuses`]
      : ['ProcessingNodes', `${configuredNodes} of ${nodes(totalNodes)} configured`]
  const conditions: Condition[] = [
    {
      type: 'InProgress',
      isTrue: pendingNodes > 0,
      reason: pendingNodes > 0 ? 'ProcessingNodes' : 'AllNodesProcessed',
      message:
        pendingNodes > 0 ? `Processing network configurations for ${nodes(pendingNodes)}` : 'all nodes processed',
    },
    {
      type: 'Applied',
      isTrue: all,
      reason: pendingNodes > 0 ? 'ProcessingNodes' : failedNodes > 0 ? 'NodesFailed' : 'AllNodesProcessed',
      message: `${configuredNodes} of ${nodes(totalNodes)} applied${failedNodes > 0 ? `, ${failedNodes} failed` : ''}`,
    },
    { type: 'Ready', isTrue: all, reason: ready[0], message: ready[1] },
    {
      type: 'Overridden',
      isTrue: owners.length > 0,
      reason: owners.length ? 'OwnedByNodeConfig' : 'NotOverridden',
      message: owners.length
        ? `${owners.length} of ${nodes(totalNodes)} managed by MultiNicNodeConfigs: ${someOf(owners)}`
        : '',
    },
    {
      type: 'ReadOnly',
      isTrue: readOnly,
      reason: readOnly ? 'ReadOnly' : 'Writable',
      message: ignored ? `a change to ${nodes(ignored)} is ignored` : '',
    },
  ]
  const at = `${now.toISOString().slice(0, 19)}Z`
  return conditions.map(({ type, isTrue, reason, message }) => {
    const status = isTrue ? 'True' : 'False'
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
