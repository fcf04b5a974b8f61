/**
 * Decides the outcome of each delivered interface: keep it, remove it, or check first whether its port is still attached.
 * Pure.
 *
 * A failed, empty or incomplete read never removes an interface (G2): a port that is missing from the list is only checked
 * again. An edit of the user removes; so does a port that the cloud, asked a second time, no longer has on the VM. If many
 * of the latter disappear at once, the removals are on hold until a person approves them.
 */
import type { Interface } from '../contract/interfaces.ts'
import type { Port } from './cloud.ts'
import { type DeliveredNode, identityOf, type Observed, type Vm } from './observed-state.ts'
import { addressesIn } from './verdicts.ts'

export type Outcome =
  /** Delivered by another OpenstackConfig. */
  | { action: 'ignore' }
  | { action: 'keep'; port?: Port }
  /** The port is missing from the list, and nothing else is known yet. */
  | { action: 'check' }
  | { action: 'remove'; why: string; edit: boolean }
  | { action: 'handOver'; to: string }

/** A node config of the cluster and the VM that it belongs to. */
export interface NodeOfVm {
  node: DeliveredNode
  vmId: string | undefined
}

export interface DeliveredInterface extends NodeOfVm {
  nic: Interface
  outcome: Outcome
}

/** Fewer removals than this are never put on hold. */
const minRemovalsOnHold = 3
const maxRemovedShare = 0.2

export function decideOutcomes(observed: Observed, nodes: readonly NodeOfVm[]): DeliveredInterface[] {
  const vms = vmsById(observed.vms)
  const findPort = portFinder(observed.ports)
  return nodes.flatMap(({ node, vmId }) =>
    node.interfaces.map(nic => ({ node, vmId, nic, outcome: decideOutcome(observed, vms, findPort, node, vmId, nic) })),
  )
}

function decideOutcome(
  observed: Observed,
  vms: ReadonlyMap<string, Vm>,
  findPort: FindPort,
  node: DeliveredNode,
  vmId: string | undefined,
  nic: Interface,
): Outcome {
  const port = findPort(nic, vmId)
  const isOnVm = port !== undefined && port.serverId === vmId
  const match = port && addressesIn(port, observed.subnets)
  const isSelected = isOnVm && match !== undefined && 'subnet' in match
  if (!isOurs(observed, nic, isSelected)) return { action: 'ignore' }

  if (vmId === undefined || !vms.has(vmId)) {
    // An entry of vmNames without a known id may be this very VM: then the user did not remove it.
    const hasUnresolvedVm = observed.vms.some(vm => vm.id === undefined)
    if (!hasUnresolvedVm) return releaseOutcome(observed, node, nic, 'its VM is no longer in vmNames')
  }
  if (isOnVm && match) {
    if ('subnet' in match) return { action: 'keep', port }
    const edit = observed.subnetsSelectedById && !observed.subnets.some(subnet => subnet.id === nic.subnetId)
    if (edit) return releaseOutcome(observed, node, nic, 'its subnet is no longer selected')
    return { action: 'remove', why: match.message, edit: false }
  }
  const check = observed.portChecks.get(identityOf(nic))
  if (check === undefined) return { action: 'check' }
  return check === 'detached'
    ? { action: 'remove', why: 'it was detached from the VM', edit: false }
    : { action: 'keep' }
}

/**
 * Ours: delivered by this object; or selected by it, and delivered by no object that still exists (an older operator, or
 * an object that was deleted with Retain).
 */
function isOurs({ source, claims }: Observed, nic: Interface, isSelected: boolean): boolean {
  if (nic.source === source) return true
  return isSelected && !claims.some(claim => claim.source === nic.source)
}

/** An interface that another object selects too is handed over instead of removed and configured again. */
export function releaseOutcome(
  { claims }: Pick<Observed, 'claims'>,
  node: DeliveredNode,
  nic: Interface,
  why: string,
): Outcome {
  const heir = claims.find(
    claim => claim.vmIds.includes(node.instanceId ?? '') && claim.subnetIds.includes(nic.subnetId ?? ''),
  )
  return heir ? { action: 'handOver', to: heir.source } : { action: 'remove', why, edit: true }
}

/**
 * The removals that need approval. Interfaces whose check failed count as disappeared. Removals stay on hold once they
 * are, even if their number falls.
 */
export function removalsOnHold(
  delivered: readonly DeliveredInterface[],
  { removalsApproved, hasRemovalsOnHold }: Pick<Observed, 'removalsApproved' | 'hasRemovalsOnHold'>,
): ReadonlySet<DeliveredInterface> {
  const ours = delivered.filter(({ outcome }) => outcome.action !== 'ignore')
  const disappeared = ours.filter(({ outcome }) => outcome.action === 'remove' && !outcome.edit)
  const count = disappeared.length + ours.filter(({ outcome }) => outcome.action === 'check').length
  const isMany = count >= minRemovalsOnHold && count > ours.length * maxRemovedShare
  return !removalsApproved && (isMany || hasRemovalsOnHold) ? new Set(disappeared) : new Set()
}

export function vmsById(vms: readonly Vm[]): Map<string, Vm> {
  return new Map(vms.flatMap(vm => (vm.id === undefined ? [] : [[vm.id, vm]])))
}

/** A node config without an instance id (made by hand, or by an older operator) belongs to the VM with its name. */
export function matchNodes({ delivered, vms }: Pick<Observed, 'delivered' | 'vms'>): NodeOfVm[] {
  const byName = Map.groupBy(
    vms.filter(vm => vm.name !== undefined),
    vm => nodeKey(vm.name ?? ''),
  )
  return delivered.map(node => {
    const [first, ...others] = byName.get(nodeKey(node.nodeName)) ?? []
    return { node, vmId: node.instanceId || (others.length === 0 ? first?.id : undefined) }
  })
}

/** Node names become object names in lower case, so two names that differ only in case are the same node. */
export function nodeKey(name: string): string {
  return name.toLowerCase()
}

type FindPort = (nic: Interface, vmId: string | undefined) => Port | undefined

/** By port id; by MAC address if the port id is unknown, or if the port was recreated with the same MAC address. */
function portFinder(ports: readonly Port[]): FindPort {
  const byId = new Map(ports.map(port => [port.id, port]))
  const byMac = new Map(ports.map(port => [`${port.serverId} ${port.macAddress}`, port]))
  return (nic, vmId) => {
    const own = nic.portId === undefined ? undefined : byId.get(nic.portId)
    return own?.serverId === vmId ? own : (byMac.get(`${vmId} ${nic.macAddress}`) ?? own)
  }
}
