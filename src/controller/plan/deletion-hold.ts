/**
 * Holds the cleanups of many configs that are deleted at once until an administrator approves them. Pure.
 *
 * Everything comes from the objects, so that a restart or another leader holds the same ones.
 */
import { type NodeConfig, nodeConfigAnnotations } from '../../contract/node-config.ts'
import { isLegacyEntry, readyReasonOf } from './config-status.ts'

const { approveDeletions, forceDelete } = nodeConfigAnnotations

/** Deletions within this time count as one, and an approval covers those of this time after it. */
export const deletionWindowMs = 600_000
/** Fewer deletions than this are never held. */
const minOnHold = 3
const maxDeletedShare = 0.2

export interface Deletion {
  deletedAt: number
  onHold: boolean
}

/** Stops at the first held one: thousands may be deleted. */
export function isOneOfMany(deletedAt: number, deletions: Iterable<Deletion>, configs: number): boolean {
  let count = 0
  for (const one of deletions) {
    if (Math.abs(one.deletedAt - deletedAt) > deletionWindowMs) continue
    if (one.onHold) return true
    count++
    if (count >= minOnHold && count > configs * maxDeletedShare) return true
  }
  return false
}

/** Undefined unless the config is being deleted and nobody approved its cleanup. */
export function unapprovedDeletion(config: NodeConfig, namespaceApproval: string | undefined): Deletion | undefined {
  const { annotations, deletionTimestamp } = config.metadata
  if (deletionTimestamp === undefined || annotations?.[forceDelete] !== undefined || isLegacyEntry(config))
    return undefined
  if (approvalOf(config, namespaceApproval) !== undefined) return undefined
  return { deletedAt: Date.parse(deletionTimestamp), onHold: isOnHold(config) }
}

/** A config stays held although the number of deletions falls. */
export function isOnHold(config: NodeConfig): boolean {
  return config.metadata.deletionTimestamp !== undefined && readyReasonOf(config) === 'DeletionHeld'
}

/** When the cleanup of the config was approved, in milliseconds since 1970. */
export function approvalOf({ metadata }: NodeConfig, namespaceApproval: string | undefined): number | undefined {
  const deletedAt = Date.parse(metadata.deletionTimestamp ?? '')
  return [metadata.annotations?.[approveDeletions], namespaceApproval]
    .map(timeIn)
    .find(time => time !== undefined && deletedAt <= time + deletionWindowMs)
}

function timeIn(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,10}$/.test(value) ? Number(value) * 1_000 : undefined
}

export function heldMessage(namespace: string, namespaceApproval: string | undefined): string {
  const command = `kubectl annotate namespace ${namespace} ${approveDeletions}="$(date +%s)" --overwrite`
  const isReadable = namespaceApproval === undefined || timeIn(namespaceApproval) !== undefined
  const wrong = isReadable ? '' : `; ${namespaceApproval.slice(0, 64)} is no time in seconds since 1970`
  return `more than a fifth of the MultiNicNodeConfigs are deleted at once, and the interfaces stay on the node until you approve it: ${command}${wrong}`
}
