/**
 * The nodes of a cluster that the plan of one object depends on: with its interfaces, its VMs, their names or its ports. A
 * large cluster has thousands of others. Pure.
 */
import type { DeliveredNode, Observed } from './observed-state.ts'
import { nodeKey } from './removals.ts'

export function concernedNodes(
  cluster: readonly DeliveredNode[],
  { source, vms, ports }: Pick<Observed, 'source' | 'vms' | 'ports'>,
): DeliveredNode[] {
  // A port that was looked up by its id may be on another VM by now.
  const vmIds = new Set(vms.map(({ id }) => id))
  for (const { serverId } of ports) vmIds.add(serverId)
  const names = new Set(vms.map(({ name = '' }) => nodeKey(name)))
  let portIds: Set<string> | undefined
  // Most nodes have a VM of the object. For them no port is looked up.
  const hasPort = (id: string) => {
    portIds ??= new Set(ports.map(port => port.id))
    return portIds.has(id)
  }
  const isConcerned = ({ nodeName, instanceId = '', interfaces }: DeliveredNode) =>
    vmIds.has(instanceId) ||
    names.has(nodeKey(nodeName)) ||
    interfaces.some(nic => nic.source === source || hasPort(nic.portId ?? ''))
  return cluster.filter(isConcerned)
}
