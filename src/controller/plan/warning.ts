/**
 * What a person should know about a config that works: the condition Warning. Pure.
 */
import { internalIpRemedy, requestedAmong } from '../../contract/internal-ips.ts'
import type { NodeReason } from '../../contract/reasons/catalogue.ts'
import { twinsMessage } from '../machine.ts'
import { isLegacyEntry } from './config-status.ts'
import type { Observed } from './observed.ts'
import { requestedOf } from './requested.ts'

export interface Warning {
  reason: NodeReason
  message: string
}

/** An entry of a MultiNicBizConfig has no room for a condition. */
export function warningOf({ config, node, twins }: Pick<Observed, 'config' | 'node' | 'twins'>): Warning | undefined {
  if (!node || isLegacyEntry(config) || config.metadata.deletionTimestamp) return undefined
  if (twins) return { reason: 'MachineNotUnique', message: twinsMessage(config, twins) }
  const listed = requestedAmong(node.internalIPs, requestedOf(config).interfaces)
  if (listed.length === 0) return undefined
  const message = `node ${node.name} lists addresses of requested NICs as InternalIP: ${listed.join(', ')}; ${internalIpRemedy}`
  return { reason: 'SecondaryInternalIP', message }
}
