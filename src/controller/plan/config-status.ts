/**
 * Questions about a config that its metadata and status answer. Pure.
 */
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { Interface } from '../../contract/interfaces.ts'
import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import {
  type InterfaceStatus,
  type NodeConfig,
  type NodeConfigStatus,
  nodeConfigAnnotations,
} from '../../contract/node-config.ts'
import { type KubeObject, readyOf } from '../../contract/object.ts'
import { isRefusal } from '../../contract/reasons/catalogue.ts'
import type { NodeFacts, Observed } from './observed.ts'
import type { Requested } from './requested.ts'

/** A node of a MultiNicBizConfig, which legacy/ presents in the shape of a MultiNicNodeConfig. */
export function isLegacyEntry({ kind }: Pick<NodeConfig, 'kind'>): boolean {
  return kind === bizConfigs.kind
}

/** The status describes the current spec. */
export function isCurrent(config: NodeConfig): config is ProcessedConfig {
  const { metadata, status } = config
  return status !== undefined && status.observedGeneration === metadata.generation
}

type ProcessedConfig = NodeConfig & { status: NodeConfigStatus }

/** The state of an interface is about its current request. The Go implementation wrote no hash. */
export function isAboutRequest(config: NodeConfig, nic: Interface, { specHash }: InterfaceStatus): boolean {
  return specHash === undefined ? isCurrent(config) : specHash === interfaceHash(nic)
}

/** Failed runs of the current generation. */
export function failedAttemptsOf(config: NodeConfig): number {
  return isCurrent(config) ? (config.status.failedAttempts ?? 0) : 0
}

/** All requested interfaces are configured. */
export function isSettled(config: NodeConfig): config is ProcessedConfig {
  return isCurrent(config) && config.status.state === 'Configured'
}

/** An agent configured the node as it is requested, or a check found differences since. */
export function isCheckable(config: NodeConfig): boolean {
  return isSettled(config) || (isCurrent(config) && readyReasonOf(config) === 'Drifted')
}

/** A Configured node whose spec changed only in what the agent does not get, such as names. */
export function hasOnlyNewNames(config: NodeConfig, { interfaces, specHash }: Requested): boolean {
  const { state, observedSpecHash, interfaceStatuses = [] } = config.status ?? {}
  if (isCurrent(config) || state !== 'Configured') return false
  if (observedSpecHash !== (config.spec.specHash || specHash)) return false
  const present = interfaceStatuses.filter(({ status }) => status !== 'Removed')
  return (
    present.length === interfaces.length &&
    interfaces.every(nic => {
      const found = present.find(({ id }) => id === nic.index)
      return found?.status === 'Configured' && !found.pending && found.specHash === interfaceHash(nic)
    })
  )
}

/** Every interface that failed was refused: the same attempt would fail again. */
export function isRefused(nics: readonly { status?: string | undefined; reason?: string | undefined }[]): boolean {
  const failed = nics.filter(({ status }) => status === 'Failed')
  return failed.length > 0 && failed.every(({ reason = '' }) => isRefusal(reason))
}

/** Reason of the Ready condition. */
export function readyReasonOf(config: NodeConfig): string | undefined {
  return readyOf(config)?.reason
}

/** An agent configured an interface of this node before, so a change can interrupt its traffic. */
export function wasConfigured({ status }: NodeConfig): boolean {
  return status?.interfaceStatuses?.some(({ lastConfigured }) => lastConfigured !== undefined) === true
}

/** The status is of an earlier boot of the node. */
export function isRebooted({ status }: NodeConfig, node: Pick<NodeFacts, 'bootID'>): boolean {
  return (status?.bootID ?? '') !== node.bootID
}

/** An older config manages the node. */
export function yieldsToOlder(config: NodeConfig): boolean {
  return readyReasonOf(config) === 'DuplicateNode' && config.metadata.deletionTimestamp === undefined
}

/** While a Job of the current generation runs, the status stays InProgress; any other state means its result is written. */
export function isResultRecorded({ status }: NodeConfig, jobName: string): boolean {
  return status?.lastJobName === jobName && status.state !== 'InProgress'
}

/**
 * The config failed with a spec after its first one, or with another agent. It counts against the failure budget until it is
 * Configured: a retry
 * in progress does not let the rollout continue.
 */
export function hasFailedChange(config: NodeConfig): boolean {
  const { generation = 0 } = config.metadata
  const state = config.status?.state
  const isFirst = generation <= 1 && !(config.status?.agentRollout && wasConfigured(config))
  if (!isCurrent(config) || isFirst) return false
  // Drift is a change that somebody else made.
  if (readyReasonOf(config) === 'Drifted') return false
  return state === 'Failed' || (state !== 'Configured' && failedAttemptsOf(config) > 0)
}

export function isPaused({ metadata }: KubeObject): boolean {
  const value = metadata.annotations?.[nodeConfigAnnotations.paused]
  return value !== undefined && value !== 'false'
}

/** Which annotation pauses the config; undefined when it is not paused. */
export function pausedBy({ config, namespacePaused }: Observed): string | undefined {
  const { paused } = nodeConfigAnnotations
  if (isPaused(config)) return `annotation ${paused} is set`
  return namespacePaused ? `annotation ${paused} is set on namespace ${config.metadata.namespace}` : undefined
}
