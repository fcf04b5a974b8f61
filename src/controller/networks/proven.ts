/**
 * Which interfaces of a node are proven: an agent verified the current request on this machine, in this boot. Pure.
 *
 * A proof ends with a new request, a reboot, a failed apply, drift and the deletion of the config. It does not depend on
 * time: a pause, an unreachable node, or a check without a report changes nothing about the last observation.
 */
import type { Interface } from '../../contract/interfaces.ts'
import type { InterfaceStatus, NodeConfig } from '../../contract/node-config.ts'
import { isAboutRequest, isRebooted, isSettled } from '../plan/config-status.ts'
import type { NodeFacts } from '../plan/observed.ts'
import { requestedOf } from '../plan/requested.ts'

export interface Proven {
  interfaces: Interface[]
  /** The config requests interfaces, and each of them is proven. */
  all: boolean
}

export function provenOf(config: NodeConfig, node: Pick<NodeFacts, 'bootID'>): Proven {
  if (config.metadata.deletionTimestamp || isRebooted(config, node)) return { interfaces: [], all: false }
  const requested = requestedOf(config).interfaces
  const interfaces = requested.filter(nic =>
    (config.status?.interfaceStatuses ?? []).some(status => isProof(config, nic, status)),
  )
  return { interfaces, all: isSettled(config) && requested.length > 0 && interfaces.length === requested.length }
}

function isProof(config: NodeConfig, nic: Interface, status: InterfaceStatus): boolean {
  if (status.id !== nic.index || status.macAddress !== nic.macAddress) return false
  return status.status === 'Configured' && !status.pending && isAboutRequest(config, nic, status)
}
