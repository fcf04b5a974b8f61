/**
 * Plans every node: a verdict for each port and VM, a stable index for each interface, and which nodes differ from what is
 * delivered.
 *
 * Pure: `Observed` contains everything that the decision depends on. Interfaces of other OpenstackConfigs on the same node
 * stay as delivered, so a node has the union.
 */

import { equalInterfaces, type Interface, interfaceName, maxInterfaces } from '../../contract/interfaces.ts'
import { shownName } from '../../contract/truncate.ts'
import type { Port, PortSecurity } from '../cloud.ts'
import {
  assignIndexes,
  type Candidate,
  formerIndexesByVm,
  type OnNode,
  removedIndexes,
  reservedByOthers,
} from './interface-indexes.ts'
import { type Move, movesOf, numbersIn, renumbered } from './moves.ts'
import { type NodeName, nodeNames, nodeVerdicts, vmVerdicts } from './node-names.ts'
import { type Claim, type DeliveredNode, identityOf, type Observed, type PlanInput, type Vm } from './observed-state.ts'
import { hasNodeAddress, isRefusedAsPrimary, primaryPort } from './primary-port.ts'
import {
  type DeliveredInterface,
  decideOutcomes,
  heirFinder,
  type MissingPort,
  matchNodes,
  type Outcome,
  refusalOfRemoval,
  releaseOutcome,
  removalsOnHold,
  removalText,
  toMissingPort,
  vmsById,
} from './removals.ts'
import { deliveredPorts, possibleUpdates, type Update, unchanged, updateOf, withoutRivals } from './undeliverable.ts'
import { addressesIn, interfaceOf, type Match, placesOf, type Refusal, refusalOfNew, type Verdict } from './verdicts.ts'

export interface NodePlan {
  nodeName: string
  instanceId: string
  /** The name of the VM, if it is known. Not part of the comparison, like the names of interfaces. */
  instanceName?: string
  /** For the records. Viola has it already. */
  providerName?: string
  action: 'send' | 'remove' | 'keep'
  /**
   * What a Viola of others or the CRD of the Go implementation does not keep, if nothing else differs: other aliases, or the first allowed
   * address pairs of the node. It is sent once.
   */
  once?: string
  /** All interfaces of the node: ours and those of other objects. */
  interfaces: Interface[]
  /** The spec hash that the cluster must still have when this is delivered; empty if it has no config of the node. */
  expectedSpecHash: string
  /** What differs, in sentences for the history. */
  why: string[]
}

export interface Plan {
  nodes: NodePlan[]
  verdicts: Verdict[]
  missingPorts: MissingPort[]
  /** VMs that a name in vmNames no longer means: does Nova have a record of their deletion? */
  uncheckedVms: string[]
  /** As the status lists them. */
  removalsOnHold: string[]
  /** Interfaces that keep another index than their subnet until a person asks for the move. */
  moves: Move[]
  /** Selected ports that are DOWN, by node. */
  down: { nodeName: string; portId: string }[]
  /** Ports that may be ready within seconds. */
  waiting: string[]
}

export function planNodes(state: Observed): Plan {
  const observed: PlanInput = { ...state, places: placesOf(state.subnets) }
  const matched = matchNodes(observed)
  const delivered = decideOutcomes(observed, matched)
  const onHold = removalsOnHold(delivered, observed)
  const names = nodeNames(observed, matched)
  const vms: ReadonlyMap<string | undefined, Vm> = vmsById(observed.vms)

  const drafts = new Map<string, Draft>()
  for (const [node, own] of Map.groupBy(delivered, one => one.node)) {
    const concerned = own.some(({ vmId, outcome }) => vms.has(vmId) || outcome.action !== 'ignore')
    if (concerned) drafts.set(node.nodeName, draftOf(node, own, onHold, observed))
  }
  const newVerdicts = selectNewPorts(observed, delivered, names, drafts)
  const nodes = [...drafts.values()].map(draft => toNodePlan(draft, vms.get(draft.instanceId)?.serverName))
  const verdicts = described(observed.ports, vms, [
    ...newVerdicts,
    ...deliveredVerdicts(observed, delivered, onHold, drafts),
    ...vmVerdicts(observed, names),
    ...nodeVerdicts(observed),
  ])
  const moves = movesOf(nodes, observed)
  const unchecked = delivered.filter(({ outcome }) => outcome.action === 'checkVm')
  return {
    nodes,
    verdicts,
    missingPorts: delivered.filter(({ outcome }) => outcome.action === 'check').map(toMissingPort),
    uncheckedVms: [...new Set(unchecked.flatMap(({ vmId }) => vmId ?? []))],
    removalsOnHold: [...onHold].map(removalText),
    moves,
    down: downPorts(nodes, observed),
    waiting: verdicts.filter(({ reason }) => notReadyYet.has(reason)).flatMap(({ portId }) => portId ?? []),
  }
}

/** The cloud finishes these within seconds, and sends no notification in every case. */
const notReadyYet = new Set<Verdict['reason']>(['PortNotBound', 'PortStatusNotAllowed'])

/** Plans the deletion of an object: removes its interfaces, or hands them over to another object that selects them. */
export function planRelease(source: string, all: readonly DeliveredNode[], claims: readonly Claim[]): NodePlan[] {
  const findHeir = heirFinder(claims)
  const drafts = all.flatMap(node => {
    const own = node.interfaces.map((nic): DeliveredInterface => {
      const outcome: Outcome =
        nic.source === source ? releaseOutcome(findHeir, node, nic, `${source} was deleted`) : { action: 'ignore' }
      return { node, vmId: node.instanceId, nic, outcome }
    })
    return own.some(({ outcome }) => outcome.action !== 'ignore') ? [draftOf(node, own, new Set())] : []
  })
  return drafts.map(draft => toNodePlan(draft))
}

interface Draft {
  nodeName: string
  instanceId: string
  delivered?: DeliveredNode
  interfaces: Interface[]
  /** Delivered interfaces that stay as they are, by `identityOf`. */
  refused: ReadonlyMap<string, Refusal>
  why: string[]
}

/** The cluster may have an empty config of the node. */
function newDraft(nodeName: string, instanceId: string, delivered: DeliveredNode | undefined): Draft {
  return { nodeName, instanceId, interfaces: [], refused: new Map(), why: [], ...(delivered && { delivered }) }
}

/** The node as delivered, with our interfaces brought up to date. */
function draftOf(
  node: DeliveredNode,
  own: readonly DeliveredInterface[],
  onHold: ReadonlySet<DeliveredInterface>,
  observed?: PlanInput,
): Draft {
  const why: string[] = []
  const numbered = renumbered(
    node.nodeName,
    own.map(({ nic }) => nic),
    observed?.renumber,
  )
  const updates = own.flatMap((one, position): Update[] => {
    const { outcome } = one
    const nic = numbered[position] ?? one.nic
    if (nic.name !== one.nic.name) why.push(`${one.nic.name} (port ${identityOf(nic)}) becomes ${nic.name}: renumbered`)
    if (outcome.action === 'handOver') {
      why.push(`${nic.name} is handed over to ${outcome.to}`)
      return [unchanged({ ...nic, source: outcome.to })]
    }
    if (outcome.action === 'remove' && !onHold.has(one)) {
      why.push(`${nic.name} (port ${identityOf(nic)}) is removed: ${outcome.why}`)
      return []
    }
    const port = outcome.action === 'keep' && observed ? outcome.port : undefined
    return [port && observed ? updateOf(nic, port, observed) : unchanged(nic)]
  })
  return { nodeName: node.nodeName, instanceId: own[0]?.vmId ?? '', delivered: node, ...possibleUpdates(updates), why }
}

/** Adds new ports to the drafts of their nodes. Returns the verdict on each port that is not delivered yet. */
function selectNewPorts(
  observed: PlanInput,
  all: readonly DeliveredInterface[],
  names: ReadonlyMap<string, NodeName>,
  drafts: Map<string, Draft>,
): Verdict[] {
  const isDelivered = deliveredPorts(all, observed.ports)
  const byVm = new Map(all.map(({ vmId, node }) => [vmId, node]))
  // A page that moved while the list was read, or a broken cloud, lists a port twice.
  const unique = new Map(observed.ports.map(port => [port.id, port]))
  const ports = Map.groupBy(unique.values(), port => port.serverId)
  const byName = new Map(observed.delivered.map(node => [node.nodeName, node]))
  const reserved = reservedByOthers(observed.claims)
  const formerIndexes = formerIndexesByVm(observed.reservedIndexes)
  return [...vmsById(observed.vms)].flatMap(([vmId, { hasLeft }]): Verdict[] => {
    const name = names.get(vmId)
    if (hasLeft || !name) return []
    const own = ports.get(vmId) ?? []
    const node = byVm.get(vmId)
    const undelivered = own.filter(port => !isDelivered(port)).map(port => ({ port, ...judge(port, node, observed) }))
    const candidates = undelivered.flatMap(({ port, match }) => (match ? [{ port, match }] : []))
    const refused = undelivered.flatMap(({ port, refusal }) =>
      refusal ? [{ portId: port.id, vm: vmId, ...refusal }] : [],
    )
    if ('reason' in name)
      return [...refused, ...candidates.map(({ port }): Verdict => ({ portId: port.id, vm: vmId, ...name }))]
    if (candidates.length === 0) return refused
    const draft = drafts.get(name.node) ?? newDraft(name.node, vmId, byName.get(name.node))
    const inMove = observed.renumber?.nodeName === name.node ? numbersIn(observed.renumber) : []
    const unavailable = new Set([...(reserved.get(vmId) ?? []), ...inMove])
    const former = new Map([...(formerIndexes.get(vmId) ?? []), ...removedIndexes(draft, vmId)])
    const verdicts = addPorts(draft, vmId, candidates, { reserved: unavailable, formerIndexes: former }, observed)
    if (draft.interfaces.length > 0) drafts.set(name.node, draft)
    return [...refused, ...verdicts]
  })
}

function judge(port: Port, node: DeliveredNode | undefined, observed: PlanInput): { match?: Match; refusal?: Refusal } {
  if (hasNodeAddress(port, node)) return { refusal: primaryPort }
  const match = addressesIn(port, observed.places)
  if (!('subnet' in match)) return { refusal: match }
  const refusal = refusalOfNew(port, observed.rules) ?? indexConflict(match)
  return refusal ? { refusal } : { match }
}

function indexConflict({ conflicting }: Match): Refusal | undefined {
  if (!conflicting) return undefined
  const texts = conflicting.map(({ name, id, index }) => `${name || id} (${index})`)
  return {
    reason: 'IndexConflict',
    message: `the port has addresses in subnets with different indexes: ${texts.join(', ')}`,
  }
}

function addPorts(
  draft: Draft,
  vmId: string,
  candidates: Candidate[],
  unavailable: Pick<OnNode, 'reserved' | 'formerIndexes'>,
  observed: PlanInput,
): Verdict[] {
  const { interfaces } = draft
  const { deliverable, refused } = withoutRivals(candidates, interfaces, observed)
  const onNode = { interfaces, subnets: observed.subnets, ...unavailable }
  const { assigned, blocked, overflow } = assignIndexes(deliverable, onNode)
  for (const { candidate, index } of assigned) {
    const name = interfaceName(index)
    draft.interfaces.push(interfaceOf(index, candidate.port, candidate.match, observed))
    draft.why.push(`port ${candidate.port.id} becomes ${name}`)
  }
  return [
    ...refused.map((refusal): Verdict => ({ vm: vmId, ...refusal })),
    ...assigned.map(({ candidate, index }) => selected(candidate.port.id, vmId, interfaceName(index))),
    ...blocked.map(({ candidate, by }): Verdict => {
      const message = `${by.name} of ${draft.nodeName} is port ${identityOf(by)} of another subnet`
      return { portId: candidate.port.id, vm: vmId, reason: 'IndexInUse', message }
    }),
    ...overflow.map(({ port }): Verdict => {
      const isFull = draft.interfaces.length >= maxInterfaces
      const message = isFull
        ? `${draft.nodeName} already has ${maxInterfaces} interfaces`
        : `the free indexes of ${draft.nodeName} belong to other subnets`
      return { portId: port.id, vm: vmId, reason: 'LimitReached', message }
    }),
  ]
}

function selected(portId: string, vm: string, name: string): Verdict {
  return { portId, vm, reason: 'Selected', message: name, name }
}

function deliveredVerdicts(
  { ports, vms }: Observed,
  delivered: readonly DeliveredInterface[],
  onHold: ReadonlySet<DeliveredInterface>,
  drafts: ReadonlyMap<string, Draft>,
): Verdict[] {
  const serverOfPort = new Map(ports.map(port => [port.id, port.serverId]))
  const byId = vmsById(vms)
  return delivered.flatMap((one): Verdict[] => {
    const { node, vmId, nic, outcome } = one
    const portId = identityOf(nic)
    const server = serverOfPort.get(portId)
    const vm = vmId ?? node.nodeName
    if (outcome.action === 'remove' && !onHold.has(one)) {
      if (!server || byId.has(server)) return []
      const message = `the port was ${nic.name} of ${node.nodeName} before`
      return [{ portId, vm: server, reason: 'VmNotSelected', message }]
    }
    if (outcome.action === 'handOver' || (outcome.action === 'ignore' && server === undefined)) return []
    if (isRefusedAsPrimary(nic, node)) return [{ portId, vm, ...primaryPort, name: nic.name }]
    if (outcome.action === 'ignore') {
      const message = `${nic.name} of ${nic.source ?? 'another object'}`
      return [{ portId, vm, reason: 'SelectedByOther', message, name: nic.name }]
    }
    const refusal = refusalOfRemoval(one) ?? drafts.get(node.nodeName)?.refused.get(portId)
    return [refusal ? { portId, vm, ...refusal, name: nic.name } : selected(portId, vm, nic.name)]
  })
}

/** With what people want to know about the subject of a verdict. */
function described(
  ports: readonly Port[],
  vms: ReadonlyMap<string | undefined, Vm>,
  verdicts: readonly Verdict[],
): Verdict[] {
  const securityOf = new Map<string | undefined, PortSecurity | undefined>(
    ports.map(port => [port.id, port.portSecurity]),
  )
  return verdicts.map(verdict => {
    const vmName = shownName(vms.get(verdict.vm)?.serverName ?? '')
    const portSecurity = verdict.reason === 'Selected' ? securityOf.get(verdict.portId) : undefined
    return { ...verdict, ...(vmName && { vmName }), ...(portSecurity && { portSecurity }) }
  })
}

function toNodePlan(draft: Draft, serverName?: string): NodePlan {
  const { nodeName, instanceId, delivered, why } = draft
  const interfaces = draft.interfaces.toSorted((a, b) => a.index - b.index)
  const instanceName = shownName(serverName ?? delivered?.instanceName ?? '')
  const node = {
    ...{ nodeName, instanceId, interfaces, expectedSpecHash: delivered?.specHash ?? '', why },
    ...(instanceName && { instanceName }),
    ...(delivered?.providerName && { providerName: delivered.providerName }),
  }
  if (!delivered) return { ...node, action: 'send' }
  if (interfaces.length === 0) return { ...node, action: 'remove' }
  const isEqual = (delivered.instanceId ?? '') === instanceId && equalLists(delivered.interfaces, interfaces)
  if (!isEqual && delivered.editedBy !== undefined)
    why.push(`the node config was edited by hand (field manager ${delivered.editedBy}), and is delivered again`)
  if (delivered.isUnconfirmed)
    why.push('the record of the delivery was lost: delivered again with the indexes in the inventory')
  if (!isEqual && why.length === 0) why.push('the ports, subnets or networks changed')
  const once = () => ({ once: onceText(interfaces, delivered.generation) })
  if (!isEqual || delivered.isUnconfirmed)
    return { ...node, action: 'send', ...(gainsOnlyPairs(node, delivered) && once()) }
  const hasNewAlias = interfaces.some((nic, position) => nic.alias !== delivered.interfaces[position]?.alias)
  return { ...node, action: 'keep', ...(hasNewAlias && once()) }
}

/** A cluster that has pairs of the node keeps pairs: a change of them is sent like any other. */
function gainsOnlyPairs(
  { instanceId, interfaces }: Pick<NodePlan, 'instanceId' | 'interfaces'>,
  delivered: DeliveredNode,
) {
  if (delivered.isUnconfirmed || (delivered.instanceId ?? '') !== instanceId) return false
  return equalLists(
    delivered.interfaces,
    interfaces.map(({ allowedAddressPairs: _, ...nic }) => nic),
  )
}

/** With the generation: after an edit by hand it is sent again. */
function onceText(interfaces: readonly Interface[], generation: number): string {
  const texts = interfaces.map(({ name, alias = '', allowedAddressPairs = [] }) =>
    [`${name}=${alias}`, ...allowedAddressPairs].join(','),
  )
  return [generation, ...texts].join(' ')
}

function equalLists(a: readonly Interface[], b: readonly Interface[]): boolean {
  return a.length === b.length && a.every((nic, position) => equalInterfaces(nic, b[position] ?? nic))
}

function downPorts(nodes: readonly NodePlan[], { ports, source }: Observed): Plan['down'] {
  const down = new Set(ports.filter(port => port.status.toUpperCase() === 'DOWN').map(port => port.id))
  return nodes.flatMap(node =>
    node.interfaces.flatMap(({ portId = '', source: selectedBy }) =>
      selectedBy === source && down.has(portId) ? [{ nodeName: node.nodeName, portId }] : [],
    ),
  )
}
