/** One record of the inventory: a node, its interfaces, and what the agent reported about them. Pure. */
import { interfaceHash } from '../../contract/interface-hash.ts'
import { type Interface, toWireInterface } from '../../contract/interfaces.ts'
import type { InventoryWrite, Stage } from '../../contract/inventory.ts'
import type { InterfaceStatus } from '../../contract/node-config.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import { stateOf } from './sync-outcome.ts'

export type Stages = Partial<Record<Stage, string>>
export type NodeRef = Pick<DeliveredNode, 'nodeName' | 'instanceId' | 'instanceName' | 'providerName'>

/** The node of a record, with its names. */
export function namesOf(providerId: string, { nodeName, instanceId = '', instanceName, providerName }: NodeRef) {
  return {
    ...{ providerId, nodeName, instanceId },
    ...(providerName !== undefined && { providerName }),
    ...(instanceName !== undefined && { instanceName }),
  }
}

export function recordOf(
  providerId: string,
  node: DeliveredNode,
  stagesOf: (nic: Interface) => Stages | undefined,
  why: string,
  requested?: readonly Interface[],
): InventoryWrite {
  const { nodeName, instanceId = '', interfaces, specHash } = node
  const { state, reason, message } = stateOf(node)
  return {
    ...namesOf(providerId, node),
    config: {
      nodeName,
      ...(instanceId !== '' && { instanceId }),
      interfaces: interfaces.map(toWireInterface),
      ...(requested && { requested: requested.map(toWireInterface) }),
    },
    lastConfigHash: specHash,
    state,
    ...(reason !== undefined && { reason: reason.slice(0, 128) }),
    ...(message !== undefined && { message: message.slice(0, 4096) }),
    ...(node.status?.agentRollout && { agentRollout: node.status.agentRollout }),
    interfaces: interfaces.map(nic => {
      const status = statusOf(nic, node.status?.interfaceStatuses ?? [])
      const checkIntervalSeconds = node.status?.checkIntervalSeconds
      return {
        ...interfaceRecord(
          nic,
          isAboutRequest(nic, status, node) ? status : withoutState(status, isCurrent(node)),
          stagesOf(nic),
        ),
        ...(status?.lastChecked !== undefined && checkIntervalSeconds !== undefined && { checkIntervalSeconds }),
      }
    }),
    why: why.slice(0, 1024),
  }
}

function isCurrent({ status, generation }: DeliveredNode): boolean {
  return (status?.observedGeneration ?? 0) >= generation
}

/** The status is about the interface as it is requested now. */
function isAboutRequest(nic: Interface, status: InterfaceStatus | undefined, node: DeliveredNode): boolean {
  return status?.specHash === undefined ? isCurrent(node) : status.specHash === interfaceHash(nic)
}

/** The interface is configured as it is requested now. */
export function isReady(nic: Interface, node: DeliveredNode): boolean {
  const status = statusOf(nic, node.status?.interfaceStatuses ?? [])
  return status?.status === 'Configured' && isAboutRequest(nic, status, node)
}

export function statusOf(nic: Interface, statuses: readonly InterfaceStatus[]): InterfaceStatus | undefined {
  return (
    statuses.find(({ portId }) => portId !== undefined && portId === nic.portId) ??
    statuses.find(({ id, macAddress }) => id === nic.index && macAddress?.toLowerCase() === nic.macAddress)
  )
}

/** The last observation of an interface whose request has changed since. */
function withoutState(status: InterfaceStatus | undefined, isCurrent: boolean): InterfaceStatus | undefined {
  if (!status) return undefined
  const { lastConfigured, lastChecked, observed, pending } = status
  return {
    status: 'Pending',
    ...(lastConfigured !== undefined && { lastConfigured }),
    ...(lastChecked !== undefined && { lastChecked }),
    ...(observed && { observed }),
    ...(pending && isCurrent && { pending }),
  }
}

function interfaceRecord(
  { index: id, name, portId, macAddress }: Interface,
  status: InterfaceStatus | undefined,
  known: Stages | undefined,
): NonNullable<InventoryWrite['interfaces']>[number] {
  const applied = status?.status === 'Configured' ? status.lastConfigured : undefined
  const verified = applied && (status?.lastChecked ?? applied)
  const job = known?.job !== undefined && applied !== undefined && applied < known.job ? applied : known?.job
  const stages: Stages = {
    ...known,
    ...(job !== undefined && { job }),
    ...(applied && { applied }),
    ...(verified && { verified }),
  }
  return {
    ...(status ?? { status: 'Pending' as const }),
    id,
    name,
    ...(portId !== undefined && { portId }),
    macAddress,
    ...(Object.keys(stages).length > 0 && { stages }),
  }
}

/** The controller started an agent Job for this generation. The stage time is at most one poll late. */
export function hasJob({ generation, status }: DeliveredNode): boolean {
  return (
    status?.lastJobName !== undefined && (status.observedGeneration ?? 0) >= generation && status.state !== 'Pending'
  )
}
