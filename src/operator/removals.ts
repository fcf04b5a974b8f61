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
import { type Claim, type DeliveredNode, identityOf, type Observed, type Vm } from './observed-state.ts'
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
  const lookups = lookupsOf(observed)
  return nodes.flatMap(({ node, vmId }) =>
    node.interfaces.map(nic => ({ node, vmId, nic, outcome: decideOutcome(observed, lookups, node, vmId, nic) })),
  )
}

/** Made once for all interfaces: clouds and other objects choose how long the lists are. */
interface Lookups {
  vms: ReadonlyMap<string, Vm>
  /** An entry of vmNames has no known id. */
  hasUnresolvedVm: boolean
  subnetIds: ReadonlySet<string>
  otherSources: ReadonlySet<string>
  findPort: FindPort
  findHeir: FindHeir
}

function lookupsOf({ vms, subnets, claims, ports }: Observed): Lookups {
  return {
    vms: vmsById(vms),
    hasUnresolvedVm: vms.some(vm => vm.id === undefined),
    subnetIds: new Set(subnets.map(subnet => subnet.id)),
    otherSources: new Set(claims.map(claim => claim.source)),
    findPort: portFinder(ports),
    findHeir: heirFinder(claims),
  }
}

function decideOutcome(
  observed: Observed,
  lookups: Lookups,
  node: DeliveredNode,
  vmId: string | undefined,
  nic: Interface,
): Outcome {
  const { vms, hasUnresolvedVm, subnetIds, otherSources, findPort, findHeir } = lookups
  const port = findPort(nic, vmId)
  const isOnVm = port !== undefined && port.serverId === vmId
  const match = port && addressesIn(port, observed.subnets)
  const isSelected = isOnVm && match !== undefined && 'subnet' in match
  // Ours: delivered by this object; or selected by it, and delivered by no object that still exists (an older operator, or
  // an object that was deleted with Retain).
  const isOurs = nic.source === observed.source || (isSelected && !otherSources.has(nic.source ?? ''))
  if (!isOurs) return { action: 'ignore' }

  // An entry of vmNames without a known id may be this very VM: then the user did not remove it.
  if ((vmId === undefined || !vms.has(vmId)) && !hasUnresolvedVm)
    return releaseOutcome(findHeir, node, nic, 'its VM is no longer in vmNames')
  if (isOnVm && match) {
    if ('subnet' in match) return { action: 'keep', port }
    const edit = observed.subnetsSelectedById && !subnetIds.has(nic.subnetId ?? '')
    if (edit) return releaseOutcome(findHeir, node, nic, 'its subnet is no longer selected')
    return { action: 'remove', why: match.message, edit: false }
  }
  const check = observed.portChecks.get(identityOf(nic))
  if (check === undefined) return { action: 'check' }
  return check === 'detached'
    ? { action: 'remove', why: 'it was detached from the VM', edit: false }
    : { action: 'keep' }
}

/** The first other object that selects the interface. */
type FindHeir = (node: DeliveredNode, nic: Interface) => Claim | undefined

export function heirFinder(claims: readonly Claim[]): FindHeir {
  const byVm = new Map<string, { claim: Claim; subnetIds: ReadonlySet<string> }[]>()
  for (const claim of claims) {
    const one = { claim, subnetIds: new Set(claim.subnetIds) }
    for (const vmId of new Set(claim.vmIds)) {
      const others = byVm.get(vmId)
      if (others) others.push(one)
      else byVm.set(vmId, [one])
    }
  }
  return ({ instanceId = '' }, { subnetId = '' }) =>
    byVm.get(instanceId)?.find(({ subnetIds }) => subnetIds.has(subnetId))?.claim
}

/** An interface that another object selects too is handed over instead of removed and configured again. */
export function releaseOutcome(findHeir: FindHeir, node: DeliveredNode, nic: Interface, why: string): Outcome {
  const heir = findHeir(node, nic)
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
    const named = byName.get(nodeKey(node.nodeName)) ?? []
    return { node, vmId: node.instanceId || (named.length === 1 ? named[0]?.id : undefined) }
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
