/**
 * Decides the outcome of each delivered interface: keep it, remove it, or check first whether its port is still attached.
 * Pure.
 *
 * A failed, empty or incomplete read never removes an interface (G2): a port that is missing from the list is only checked
 * again. An edit of the user removes, and so does a VM whose deletion Nova recorded. A port that the cloud, asked a second
 * time, no longer has on the VM is removed too, but many at once only after a person approves it. The same holds for a VM
 * whose name in vmNames has come to mean another server, and for one whose Node was deleted: nobody edited the object, and
 * a Node that joins again must find its interfaces.
 */
import type { Interface } from '../contract/interfaces.ts'
import { truncate } from '../contract/truncate.ts'
import { flatMapSteps, type Steps } from '../runtime/event-loop.ts'
import type { Port } from './cloud.ts'
import { type Claim, type DeliveredNode, identityOf, type Observed, type Vm } from './observed-state.ts'
import { addressesIn } from './verdicts.ts'

export type Outcome =
  /** Delivered by another OpenstackConfig. */
  | { action: 'ignore' }
  | { action: 'keep'; port?: Port }
  /** The port is missing from the list, and nothing else is known yet. */
  | { action: 'check' }
  /** A name in vmNames no longer means the VM, and Nova was not asked yet whether it was deleted. */
  | { action: 'checkVm' }
  | { action: 'remove'; why: string; evidence?: Evidence }
  | { action: 'handOver'; to: string }

/** Why a removal may need approval. None: the user edited the object, or Nova recorded the deletion of the VM. */
type Evidence = 'missing' | 'nameReused' | 'nodeDeleted'

/** A node config of the cluster and the VM that it belongs to. */
export interface NodeOfVm {
  node: DeliveredNode
  vmId: string | undefined
}

export interface DeliveredInterface extends NodeOfVm {
  nic: Interface
  outcome: Outcome
}

/** Fewer missing ports than this are never put on hold. */
const minRemovalsOnHold = 3
/** What the status lists of them. */
export const maxRemovalsOnHold = 100
const maxRemovedShare = 0.2
const maxRemovalText = 300

export function* decideOutcomes(observed: Observed, nodes: readonly NodeOfVm[]): Steps<DeliveredInterface[]> {
  const lookups = lookupsOf(observed)
  yield
  return yield* flatMapSteps(nodes, ({ node, vmId }) =>
    node.interfaces.map(nic => ({ node, vmId, nic, outcome: decideOutcome(observed, lookups, node, vmId, nic) })),
  )
}

/** Made once for all interfaces: clouds and other objects choose how long the lists are. */
interface Lookups {
  vms: ReadonlyMap<string | undefined, Vm>
  formerEntry: FormerEntry
  subnetIds: ReadonlySet<string | undefined>
  otherSources: ReadonlySet<string | undefined>
  findPort: FindPort
  findHeir: FindHeir
}

function lookupsOf({ vms, resolvedNames, subnets, claims, ports }: Observed): Lookups {
  return {
    vms: vmsById(vms),
    formerEntry: formerEntryFinder(vms, resolvedNames),
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
  const { vms, formerEntry, subnetIds, otherSources, findPort, findHeir } = lookups
  const port = findPort(nic, vmId)
  const match = port && addressesIn(port, observed.subnets)
  const isSelected = match !== undefined && 'subnet' in match
  // Ours: delivered by this object; or selected by it, and delivered by no object that still exists (an older operator, or
  // an object that was deleted with Retain).
  const isOurs = nic.source === observed.source || (isSelected && !otherSources.has(nic.source))
  if (!isOurs) return { action: 'ignore' }

  if (!vms.has(vmId)) {
    const entry = formerEntry(vmId)
    if (!entry) return releaseOutcome(findHeir, node, nic, 'its VM is no longer in vmNames')
    const outcome = reusedNameOutcome(observed, findHeir, entry, { node, vmId, nic })
    if (outcome) return outcome
  }
  const left = vms.get(vmId)?.hasLeft
  if (left === 'selector') return releaseOutcome(findHeir, node, nic, 'its VM is no longer selected', 'missing')
  if (left) return releaseOutcome(findHeir, node, nic, 'its VM is no longer a Node of the cluster', 'nodeDeleted')
  if (match) {
    if ('subnet' in match) return { action: 'keep', port }
    const edit = observed.subnetsSelectedById && !subnetIds.has(nic.subnetId)
    if (edit) return releaseOutcome(findHeir, node, nic, 'its subnet is no longer selected')
    return { action: 'remove', why: match.message, evidence: 'missing' }
  }
  const check = observed.portChecks.get(identityOf(nic))
  if (check === undefined) return { action: 'check' }
  // Stryker disable next-line ObjectLiteral,StringLiteral: what is neither removed nor checked is kept
  if (check === 'attached') return { action: 'keep' }
  return check === 'deleted'
    ? { action: 'remove', why: 'its VM was deleted' }
    : { action: 'remove', why: 'it was detached from the VM', evidence: 'missing' }
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
  { removalsApproved, removalsOnHold: listed }: Pick<Observed, 'removalsApproved' | 'removalsOnHold'>,
): ReadonlySet<DeliveredInterface> {
  if (removalsApproved) return new Set()
  const ours = delivered.filter(({ outcome }) => outcome.action !== 'ignore')
  const by = (evidence: Evidence) => ours.filter(({ outcome }) => evidenceOf(outcome) === evidence)
  const missing = by('missing')
  const unchecked: Outcome['action'][] = ['check', 'checkVm']
  const count = missing.length + ours.filter(({ outcome }) => unchecked.includes(outcome.action)).length
  const isMany = count >= minRemovalsOnHold && count > ours.length * maxRemovedShare
  const before = new Set(listed)
  const isOnHold = (one: DeliveredInterface) =>
    isMany || before.has(removalText(one)) || before.size >= maxRemovalsOnHold
  return new Set([...missing.filter(isOnHold), ...by('nameReused'), ...by('nodeDeleted')])
}

function evidenceOf(outcome: Outcome): Evidence | undefined {
  // Stryker disable next-line ConditionalExpression: nothing but a removal has evidence
  return outcome.action === 'remove' ? outcome.evidence : undefined
}

/** What the status says about a removal on hold. */
export function removalText({ node, nic, outcome }: Pick<DeliveredInterface, 'node' | 'nic' | 'outcome'>): string {
  const text = `${node.nodeName} ${nic.name} (port ${identityOf(nic)})`
  // Stryker disable next-line ConditionalExpression: nothing but a removal is on hold
  const isOfMany = outcome.action !== 'remove' || outcome.evidence === 'missing'
  return truncate(isOfMany ? text : `${text}: ${outcome.why}`, maxRemovalText)
}

export function vmsById(vms: readonly Vm[]): Map<string, Vm> {
  // Stryker disable next-line ConditionalExpression: nothing has the ID undefined
  return new Map(vms.flatMap(vm => (vm.id === undefined ? [] : [[vm.id, vm]])))
}

/** A node config without an instance id (made by hand, or by an older operator) belongs to the VM with its name. */
export function matchNodes({ delivered, vms }: Pick<Observed, 'delivered' | 'vms'>): NodeOfVm[] {
  const byName = Map.groupBy(vms, ({ name }) => name && nodeKey(name))
  return delivered.map(node => {
    const named = byName.get(nodeKey(node.nodeName))
    // Stryker disable next-line OptionalChaining: a list of one has a first
    return { node, vmId: node.instanceId || (named?.length === 1 ? named[0]?.id : undefined) }
  })
}

/** Node names become object names in lower case, so two names that differ only in case are the same node. */
export function nodeKey(name: string): string {
  // Stryker disable next-line MethodExpression: any one case
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
