/**
 * The node of each VM: the node it was delivered under, else the server name. Pure.
 *
 * A renamed server keeps its node. A name that two VMs share is refused, because both would write to the same node.
 */

import { serverIdOf } from '../../contract/machine.ts'
import { nodeNameError } from '../../contract/node-names.ts'
import { truncate } from '../../contract/truncate.ts'
import type { Observed, Vm } from './observed-state.ts'
import { type NodeOfVm, nodeKey, vmsById } from './removals.ts'
import type { Refusal, Verdict } from './verdicts.ts'

export type NodeName = { node: string } | Refusal

export function nodeNames({ vms }: Observed, nodes: readonly NodeOfVm[]): Map<string, NodeName> {
  const byId = vmsById(vms)
  const names = new Map<string, NodeName>()
  for (const { node, vmId } of nodes)
    if (vmId !== undefined && byId.has(vmId) && !names.has(vmId)) names.set(vmId, { node: node.nodeName })
  const owners = new Map(nodes.map(({ node }) => [nodeKey(node.nodeName), node.instanceId]))
  const byName = Map.groupBy(byId.values(), vm => nodeKey(vm.name ?? ''))
  for (const [vmId, vm] of byId) if (!names.has(vmId)) names.set(vmId, newName(vmId, vm, owners, byName))
  return names
}

function newName(
  vmId: string,
  vm: Vm,
  owners: ReadonlyMap<string, string | undefined>,
  byName: ReadonlyMap<string, Vm[]>,
): NodeName {
  if (vm.state === 'notFound') return notFound(vm)
  const { name } = vm
  if (vm.state !== 'found' || name === undefined)
    return { reason: 'VmNameUnknown', message: `server ${vm.entry}: its name is not known yet` }
  const error = nodeNameError(name)
  if (error) return { reason: 'VmNameInvalid', message: `server ${vm.entry}: its name ${error}` }
  const key = nodeKey(name)
  const other = owners.get(key) || byName.get(key)?.find(one => one.id !== vmId)?.id
  if (other !== undefined)
    return { reason: 'VmNameNotUnique', message: `servers ${vmId} and ${other} have the same name ${name}` }
  return { node: name }
}

function notFound({ entry }: Vm): Refusal {
  return { reason: 'VmNotFound', message: `server ${entry} not found` }
}

/** Nodes that clusterNodes does not select. */
export function nodeVerdicts({ nodesWithoutVm }: Pick<Observed, 'nodesWithoutVm'>): Verdict[] {
  return nodesWithoutVm.map(({ name, systemUUID }): Verdict => {
    const uuid = truncate(systemUUID, 64)
    return serverIdOf(systemUUID) === undefined
      ? { vm: name, reason: 'NodeNotIdentified', message: `the SystemUUID of Node ${name} is ${JSON.stringify(uuid)}` }
      : { vm: name, reason: 'NodeNotSelected', message: `Node ${name} is no server that vmSelector selects: ${uuid}` }
  })
}

export function vmVerdicts({ vms, delivered }: Observed, names: ReadonlyMap<string, NodeName>): Verdict[] {
  const nodes = new Map(delivered.map(node => [node.instanceId, node.nodeName]))
  return vms.flatMap((vm): Verdict[] => {
    const subject = vm.id ?? vm.entry
    if (vm.state === 'notUnique')
      return [{ vm: subject, reason: 'VmNotUnique', message: `several servers have the name ${vm.entry}` }]
    if (vm.state === 'notFound') return [{ vm: subject, ...notFound(vm) }]
    const name = vm.id === undefined ? undefined : names.get(vm.id)
    if (name && 'reason' in name) return [{ vm: subject, ...name }]
    const node = vm.id === undefined ? undefined : nodes.get(vm.id)
    if (node && vm.name !== undefined && nodeKey(node) !== nodeKey(vm.name))
      return [{ vm: subject, reason: 'VmNameChanged', message: `the server of node ${node} was renamed to ${vm.name}` }]
    return []
  })
}
