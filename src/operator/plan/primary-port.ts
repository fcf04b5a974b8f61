/**
 * Recognizes the primary port of a node: it has an address of the Node, or the agent refused it. Pure.
 *
 * MultiNIC never manages it. To give it an address in a selected subnet, or to configure it, can cut off the node.
 */
import { canonical } from '../../contract/address.ts'
import type { Interface } from '../../contract/interfaces.ts'
import type { InterfaceReason } from '../../contract/reasons/catalogue.ts'
import type { Port } from '../cloud.ts'
import type { DeliveredNode } from './observed-state.ts'
import type { Refusal } from './verdicts.ts'

const refusals: readonly InterfaceReason[] = ['CarriesDefaultRoute', 'HasNodeAddress']

/** What the status of a node says about its primary port. A plan reads nothing else of a status. */
export function primaryPortReport({ status }: Pick<DeliveredNode, 'status'>) {
  const refused = status?.interfaceStatuses?.filter(({ reason }) => refusals.some(one => one === reason)) ?? []
  return {
    nodeAddresses: status?.nodeAddresses ?? [],
    refused: refused.map(({ portId, macAddress }) => ({ portId, macAddress })),
  }
}

export function hasNodeAddress(port: Port, node: Pick<DeliveredNode, 'status'> | undefined): boolean {
  const own = new Set(node && primaryPortReport(node).nodeAddresses.map(canonical))
  if (own.size === 0) return false
  return port.addresses.some(({ address }) => own.has(canonical(address)))
}

export function isRefusedAsPrimary({ portId, macAddress }: Interface, node: Pick<DeliveredNode, 'status'>): boolean {
  const { refused } = primaryPortReport(node)
  return refused.some(one => (portId === undefined ? one.macAddress === macAddress : one.portId === portId))
}

export const primaryPort: Refusal = {
  reason: 'PrimaryPort',
  message: 'the port is the primary port of the node; MultiNIC does not manage it',
}
