/**
 * Decides the outcome of each delivered interface: keep it, remove it, or check first whether its port is still attached.
 * Pure.
 *
 * A failed, empty or incomplete read never removes an interface (G2): a port that is missing from the list is only checked
 * again, and so is one that is listed without an address in a selected subnet. An edit of the user removes, and so does a VM
 * whose deletion Nova recorded. A port that the cloud, asked a second time, no longer has on the VM is removed too, but many
 * at once only after a person approves it. The same holds for a VM or a subnet whose name in the object has come to mean
 * another one, and for a VM whose Node was deleted: nobody edited the object, and a Node that joins again must find its
 * interfaces. It also holds for everything that a new object does not select: the file that it was created from may be older
 * than the interfaces.
 */
import type { Interface } from '../../contract/interfaces.ts'
import { truncate } from '../../contract/truncate.ts'
import type { Port } from '../cloud.ts'
import { type Claim, type DeliveredNode, identityOf, type Observed, type PlanInput, type Vm } from './observed-state.ts'
import { addressesIn, type Refusal } from './verdicts.ts'

export type Outcome =
  /** Delivered by another OpenstackConfig. */
  | { action: 'ignore' }
  | { action: 'keep'; port?: Port; unconfirmed?: string }
  /** The port is missing from the list, or is listed without an address in a selected subnet. Nothing else is known yet. */
  | { action: 'check'; port?: Port; unconfirmed: string }
  /** A name in vmNames no longer means the VM, and Nova was not asked yet whether it was deleted. */
  | { action: 'checkVm' }
  | { action: 'remove'; why: string; evidence?: Evidence }
  | { action: 'handOver'; to: string }

/** Why a removal may need approval. None: Nova recorded the deletion of the VM. */
type Evidence =
  /** The cloud, asked twice, does not have the port on the VM. */
  | 'detached'
  /** In the cloud, the port or the VM no longer is what the object selects. */
  | 'unmatched'
  /** The object no longer selects it. */
  | 'deselected'
  | 'nameReused'
  | 'subnetNameReused'
  | 'nodeDeleted'

const vmDeselected = 'its VM is no longer in vmNames'
const subnetDeselected = 'its subnet is no longer selected'
const deselected = [vmDeselected, subnetDeselected]

/** A node config of the cluster and the VM that it belongs to. */
export interface NodeOfVm {
  node: DeliveredNode
  vmId: string | undefined
}

export interface DeliveredInterface extends NodeOfVm {
  nic: Interface
  outcome: Outcome
}

/** A delivered interface whose port is missing from the port list: is it still attached to the VM? */
export interface MissingPort {
  vmId: string
  portId?: string
  macAddress: string
  /** It is listed on the VM, but without an address in a selected subnet. */
  port?: Port
}

/** Fewer missing ports than this are never put on hold. */
const minRemovalsOnHold = 3
/** What the status lists of them. */
export const maxRemovalsOnHold = 100
const maxRemovedShare = 0.2
const maxRemovalText = 300

export function decideOutcomes(observed: PlanInput, nodes: readonly NodeOfVm[]): DeliveredInterface[] {
  const lookups = lookupsOf(observed)
  return nodes.flatMap(({ node, vmId }) =>
    node.interfaces.map(nic => ({ node, vmId, nic, outcome: decideOutcome(observed, lookups, node, vmId, nic) })),
  )
}

/** Made once for all interfaces: clouds and other objects choose how long the lists are. */
interface Lookups {
  vms: ReadonlyMap<string | undefined, Vm>
  formerEntry: FormerEntry
  formerNames: FormerNames
  subnetIds: ReadonlySet<string | undefined>
  otherSources: ReadonlySet<string | undefined>
  findPort: FindPort
  findHeir: FindHeir
}

function lookupsOf({ vms, resolvedNames, resolvedSubnets, subnets, claims, ports }: Observed): Lookups {
  return {
    vms: vmsById(vms),
    formerEntry: formerEntryFinder(vms, resolvedNames),
    formerNames: formerNamesOf(resolvedSubnets),
    subnetIds: new Set(subnets.map(subnet => subnet.id)),
    otherSources: new Set(claims.map(claim => claim.source)),
    findPort: portFinder(ports),
    findHeir: heirFinder(claims),
  }
}

function decideOutcome(
  observed: PlanInput,
  lookups: Lookups,
  node: DeliveredNode,
  vmId: string | undefined,
  nic: Interface,
): Outcome {
  const { vms, formerEntry, otherSources, findPort, findHeir } = lookups
  const port = findPort(nic, vmId)
  const match = port && addressesIn(port, observed.places)
  const isSelected = match !== undefined && 'subnet' in match
  // Ours: delivered by this object; or selected by it, and delivered by no object that still exists (the Go operator, or
  // an object that was deleted with Retain).
  const isOurs = nic.source === observed.source || (isSelected && !otherSources.has(nic.source))
  if (!isOurs) return { action: 'ignore' }

  if (!vms.has(vmId)) {
    const entry = formerEntry(vmId)
    if (!entry) return releaseOutcome(findHeir, node, nic, vmDeselected, 'deselected')
    const outcome = reusedNameOutcome(observed, findHeir, entry, { node, vmId, nic })
    if (outcome) return outcome
  }
  const left = vms.get(vmId)?.hasLeft
  if (left === 'selector') return releaseOutcome(findHeir, node, nic, 'its VM is no longer selected', 'unmatched')
  if (left) return releaseOutcome(findHeir, node, nic, 'its VM is no longer a Node of the cluster', 'nodeDeleted')
  if (match && 'subnet' in match) return { action: 'keep', port }
  const released = match && deselectedSubnetOutcome(observed, lookups, node, nic)
  if (released) return released
  const check = observed.portChecks.get(identityOf(nic))
  const listed = port ? 'lists the port without an address in a selected subnet' : 'does not list the port on the VM'
  if (check === undefined) return { action: 'check', ...(port && { port }), unconfirmed: `Neutron ${listed}` }
  if (check === 'attached') return { action: 'keep', unconfirmed: `Neutron ${listed}, but a second answer has it` }
  if (check === 'deleted') return { action: 'remove', why: 'its VM was deleted' }
  if (check === 'detached') return { action: 'remove', why: 'it was detached from the VM', evidence: check }
  return { action: 'remove', why: 'the port has no address in a selected subnet', evidence: 'unmatched' }
}

/** By subnet, the names that meant it when its interfaces were delivered. */
type FormerNames = ReadonlyMap<string | undefined, readonly string[]>

function formerNamesOf(resolvedSubnets: Observed['resolvedSubnets']): FormerNames {
  const groups = Map.groupBy(Object.entries(resolvedSubnets), ([, id]) => id)
  return new Map([...groups].map(([id, entries]) => [id, entries.map(([name]) => name)]))
}

/**
 * The subnet of an interface is no longer selected: its name in the object means another subnet now, or the user edited the
 * object. Undefined if neither is known.
 */
function deselectedSubnetOutcome(
  { subnetNames }: Observed,
  { subnetIds, formerNames, findHeir }: Lookups,
  node: DeliveredNode,
  nic: Interface,
): Outcome | undefined {
  if (subnetIds.has(nic.subnetId)) return undefined
  const names = formerNames.get(nic.subnetId) ?? []
  const reused = names.find(name => Object.hasOwn(subnetNames, name))
  if (reused !== undefined) {
    const why = `${reused} in subnets now means subnet ${subnetNames[reused]}`
    return releaseOutcome(findHeir, node, nic, why, 'subnetNameReused')
  }
  const isEdit = names.length > 0 || Object.keys(subnetNames).length === 0
  return isEdit ? releaseOutcome(findHeir, node, nic, subnetDeselected, 'deselected') : undefined
}

/** The entry of vmNames that meant this VM when it was delivered. An entry that never had a server may have meant it. */
type FormerEntry = (vmId: string | undefined) => Vm | undefined

function formerEntryFinder(vms: readonly Vm[], resolvedNames: Observed['resolvedNames']): FormerEntry {
  const byServer = Map.groupBy(vms, ({ entry }) => serverBefore(resolvedNames, entry))
  const neverResolved = byServer.get(undefined)?.find(({ id }) => id === undefined)
  return vmId => (vmId === undefined ? undefined : byServer.get(vmId)?.[0]) ?? neverResolved
}

function serverBefore(resolvedNames: Observed['resolvedNames'], entry: string): string | undefined {
  return Object.hasOwn(resolvedNames, entry) ? resolvedNames[entry] : undefined
}

/** Undefined if Nova finds no server of the name now, or does not answer: then the VM may still be the one that it means. */
function reusedNameOutcome(
  observed: Observed,
  findHeir: FindHeir,
  { entry, id, state }: Vm,
  { node, vmId, nic }: Omit<DeliveredInterface, 'outcome'>,
): Outcome | undefined {
  if (state === 'unknown') return undefined
  if (id === undefined && serverBefore(observed.resolvedNames, entry) === vmId) return undefined
  const deletedVms: ReadonlyMap<string | undefined, boolean> = observed.deletedVms
  const isDeleted = deletedVms.get(vmId)
  if (isDeleted === undefined) return { action: 'checkVm' }
  const why = id === undefined ? `${entry} in vmNames matches no server` : `${entry} in vmNames now means server ${id}`
  return releaseOutcome(findHeir, node, nic, why, isDeleted ? undefined : 'nameReused')
}

/** The first other object that selects the interface. */
type FindHeir = (node: DeliveredNode, nic: Interface) => Claim | undefined

/** Few plans release an interface: the others do not need the VMs of all claims. */
export function heirFinder(claims: readonly Claim[]): FindHeir {
  let known: ClaimsByVm | undefined
  return ({ instanceId }, { subnetId }) => {
    known ??= claimsByVm(claims)
    return known.get(instanceId)?.find(({ subnetIds }) => subnetIds.has(subnetId))?.claim
  }
}

type ClaimsByVm = Map<string | undefined, { claim: Claim; subnetIds: ReadonlySet<string | undefined> }[]>

function claimsByVm(claims: readonly Claim[]): ClaimsByVm {
  const byVm: ClaimsByVm = new Map()
  for (const claim of claims) {
    const one = { claim, subnetIds: new Set<string | undefined>(claim.subnetIds) }
    for (const vmId of new Set(claim.vmIds)) {
      const others = byVm.get(vmId)
      if (others) others.push(one)
      else byVm.set(vmId, [one])
    }
  }
  return byVm
}

/** An interface that another object selects too is handed over instead of removed and configured again. */
export function releaseOutcome(
  findHeir: FindHeir,
  node: DeliveredNode,
  nic: Interface,
  why: string,
  evidence?: Evidence,
): Outcome {
  const heir = findHeir(node, nic)
  return heir ? { action: 'handOver', to: heir.source } : { action: 'remove', why, ...(evidence && { evidence }) }
}

/**
 * The removals that need approval. Interfaces whose check failed count as missing. Removals stay on hold once they are,
 * even if their number falls.
 */
export function removalsOnHold(
  delivered: readonly DeliveredInterface[],
  { isNew, removalsApproved, removalsOnHold: listed }: Pick<Observed, 'isNew' | 'removalsApproved' | 'removalsOnHold'>,
): ReadonlySet<DeliveredInterface> {
  if (removalsApproved) return new Set()
  const ours = delivered.filter(({ outcome }) => outcome.action !== 'ignore')
  const by = (...evidence: Evidence[]) =>
    ours.filter(({ outcome }) => evidence.some(one => one === evidenceOf(outcome)))
  const missing = by('detached', 'unmatched')
  const count = missing.length + ours.filter(({ outcome }) => isUnchecked(outcome)).length
  const isMany = count >= minRemovalsOnHold && count > ours.length * maxRemovedShare
  const before = new Set(listed)
  const isFull = before.size >= maxRemovalsOnHold
  const isOnHold = (one: DeliveredInterface) => isMany || before.has(removalText(one)) || isFull
  // Nothing but a new object puts these on hold. They come first, so that a full list has one of them.
  const isFullOfDeselected = isFull && listed.some(text => deselected.some(why => text.endsWith(why)))
  return new Set([
    ...by('deselected').filter(one => isNew || before.has(removalText(one)) || isFullOfDeselected),
    ...missing.filter(one => (isNew && evidenceOf(one.outcome) === 'unmatched') || isOnHold(one)),
    ...by('nameReused', 'subnetNameReused', 'nodeDeleted'),
  ])
}

/** A port that the list has on its VM is not missing. */
function isUnchecked(outcome: Outcome): boolean {
  return outcome.action === 'checkVm' || (outcome.action === 'check' && outcome.port === undefined)
}

/** Why an interface stays although its removal is planned or possible. Undefined: its port is selected. */
export function refusalOfRemoval({ nic, outcome }: Pick<DeliveredInterface, 'nic' | 'outcome'>): Refusal | undefined {
  if (outcome.action === 'remove' && outcome.evidence === 'subnetNameReused')
    return { reason: 'SubnetNameReused', message: `${nic.name} stays until you approve its removal: ${outcome.why}` }
  const unconfirmed = outcome.action === 'keep' || outcome.action === 'check' ? outcome.unconfirmed : undefined
  if (unconfirmed === undefined) return undefined
  return { reason: 'RemovalUnconfirmed', message: `${nic.name} stays: ${unconfirmed}` }
}

function evidenceOf(outcome: Outcome): Evidence | undefined {
  return outcome.action === 'remove' ? outcome.evidence : undefined
}

/** What the status says about a removal on hold. */
export function removalText({ node, nic, outcome }: Pick<DeliveredInterface, 'node' | 'nic' | 'outcome'>): string {
  const text = `${node.nodeName} ${nic.name} (port ${identityOf(nic)})`
  const isOfMany = outcome.action !== 'remove' || outcome.evidence === 'detached' || outcome.evidence === 'unmatched'
  return truncate(isOfMany ? text : `${text}: ${outcome.why}`, maxRemovalText)
}

export function toMissingPort({ vmId = '', nic, outcome }: DeliveredInterface): MissingPort {
  const port = outcome.action === 'check' ? outcome.port : undefined
  return {
    ...{ vmId, macAddress: nic.macAddress },
    ...(nic.portId !== undefined && { portId: nic.portId }),
    ...(port && { port }),
  }
}

export function vmsById(vms: readonly Vm[]): Map<string, Vm> {
  return new Map(vms.flatMap(vm => (vm.id === undefined ? [] : [[vm.id, vm]])))
}

/** A node config without an instance id (made by hand, or by the Go operator) belongs to the VM with its name. */
export function matchNodes({ delivered, vms }: Pick<Observed, 'delivered' | 'vms'>): NodeOfVm[] {
  const byName = Map.groupBy(vms, ({ name }) => name && nodeKey(name))
  return delivered.map(node => {
    const named = byName.get(nodeKey(node.nodeName))
    return { node, vmId: node.instanceId || (named?.length === 1 ? named[0]?.id : undefined) }
  })
}

/** Node names become object names in lower case, so two names that differ only in case are the same node. */
export function nodeKey(name: string): string {
  return name.toLowerCase()
}

type FindPort = (nic: Interface, vmId: string | undefined) => Port | undefined

/** On the VM, by port id; by MAC address if the port id is unknown, or if the port was recreated with the same MAC address. */
function portFinder(ports: readonly Port[]): FindPort {
  const byId = new Map<string | undefined, Port>(ports.map(port => [port.id, port]))
  const byMac = new Map(ports.map(port => [`${port.serverId} ${port.macAddress}`, port]))
  return (nic, vmId) => {
    const own = byId.get(nic.portId)
    return own?.serverId === vmId ? own : byMac.get(`${vmId} ${nic.macAddress}`)
  }
}
