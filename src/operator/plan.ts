/**
 * Decides what every node is to have: a verdict for each port and VM, sticky numbers, and which nodes differ from what was
 * delivered.
 *
 * Pure: all that the decision may depend on is in `Observed`. Interfaces of other OpenstackConfigs on the same node stay
 * as they are delivered, so the node has the union.
 */
import { equalInterfaces, type Interface, interfaceName } from '../contract/interfaces.ts'
import { type Candidate, numberNew } from './interface-indexes.ts'
import { type Claim, type HeldNode, identityOf, type Observed, type Port, type VmFact } from './observed-state.ts'
import { type Delivered, type Fate, fatesOf, heldBack, nodeKey, released, vmIdOf, vmsById } from './removals.ts'
import { addressesIn, contentOf, type Refusal, refusalOfNew, type Verdict } from './verdicts.ts'

export interface NodePlan {
  nodeName: string
  instanceId: string
  action: 'send' | 'remove' | 'keep'
  /** The whole node: ours and those of other objects. */
  interfaces: Interface[]
  /** What the cluster must still hold when this is delivered; empty when nothing. */
  expectedSpecHash: string
  /** What differs, in words for the history. */
  why: string[]
}

/** A delivered interface that the listing no longer shows: is it still on the VM? */
export interface Question {
  vmId: string
  portId?: string
  macAddress: string
}

export interface Plan {
  nodes: NodePlan[]
  verdicts: Verdict[]
  questions: Question[]
  heldRemovals: { node: string; nic: Interface }[]
  /** Ports that were taken and are DOWN, by node. */
  down: { nodeName: string; portId: string }[]
  /** Ports that will be worth another look very soon. */
  waiting: string[]
}

export function planNodes(observed: Observed): Plan {
  const delivered = fatesOf(observed)
  const held = heldBack(delivered, observed)
  const names = namesOf(observed)
  const verdicts: Verdict[] = []

  const vms = vmsById(observed.vms)
  const drafts = new Map<string, Draft>()
  for (const [node, mine] of Map.groupBy(delivered, one => one.node)) {
    const concerns = vms.has(vmIdOf(node, observed.vms) ?? '') || mine.some(({ is }) => is.fate !== 'foreign')
    if (concerns) drafts.set(node.nodeName, draftOf(node, mine, held, observed))
  }

  const isDelivered = deliveredPorts(delivered)
  const fresh = Map.groupBy(
    observed.ports.filter(port => !isDelivered(port)),
    port => port.deviceId,
  )
  for (const vmId of vms.keys()) {
    const candidates: Candidate[] = []
    for (const port of fresh.get(vmId) ?? []) {
      const verdict = judge(port, observed)
      if ('match' in verdict) candidates.push(verdict)
      else verdicts.push({ portId: port.id, vm: vmId, ...verdict })
    }
    const name = names.get(vmId)
    if (name === undefined || 'reason' in name) {
      const refusal = name ?? { reason: 'NameUnknown', message: 'Nova has not told its name' }
      for (const { port } of candidates) verdicts.push({ portId: port.id, vm: vmId, ...refusal })
      continue
    }
    if (candidates.length === 0) continue
    const draft = drafts.get(name.node) ?? newDraft(name.node, vmId, observed.held)
    drafts.set(name.node, draft)
    verdicts.push(...take(draft, vmId, candidates, observed))
  }

  const seen = new Map(observed.ports.map(port => [port.id, port.deviceId]))
  for (const one of delivered) {
    const at = seen.get(identityOf(one.nic))
    const goes = one.is.fate === 'remove' && !held.has(one)
    if (!goes) verdicts.push(...verdictOnDelivered(one, at !== undefined, observed.source))
    else if (at && !vms.has(at)) verdicts.push(movedTo(at, one))
  }
  verdicts.push(...verdictsOnVms(observed, names))

  const nodes = [...drafts.values()].map(settled)
  return {
    nodes,
    verdicts,
    questions: delivered.filter(({ is }) => is.fate === 'ask').map(one => questionAbout(one, observed)),
    heldRemovals: [...held].map(({ node, nic }) => ({ node: node.nodeName, nic })),
    down: downPorts(nodes, observed),
    waiting: verdicts.filter(({ reason }) => notYet.has(reason)).flatMap(({ portId }) => portId ?? []),
  }
}

/** Ports that may be ready in a moment; nobody tells when. */
const notYet = new Set<Verdict['reason']>(['PortNotBound', 'StatusNotAllowed'])

/** Every interface of an object that is being deleted goes, or over to another object that wants it too. */
export function planRelease(source: string, held: readonly HeldNode[], claims: readonly Claim[]): NodePlan[] {
  const drafts = held.flatMap(node => {
    const mine: Delivered[] = node.interfaces.map(nic => {
      const is: Fate =
        nic.source === source ? released({ claims }, node, nic, `${source} was deleted`) : { fate: 'foreign' }
      return { node, nic, is }
    })
    return mine.some(({ is }) => is.fate !== 'foreign') ? [draftOf(node, mine, new Set())] : []
  })
  return drafts.map(settled).filter(({ action }) => action !== 'keep')
}

interface Draft {
  nodeName: string
  instanceId: string
  held?: HeldNode
  interfaces: Interface[]
  why: string[]
}

/** The cluster may hold an empty config of the node. */
function newDraft(nodeName: string, instanceId: string, all: readonly HeldNode[]): Draft {
  const held = all.find(node => node.nodeName === nodeName)
  return { nodeName, instanceId, interfaces: [], why: [], ...(held && { held }) }
}

/** The node as it is held, with our part brought up to date. */
function draftOf(node: HeldNode, mine: readonly Delivered[], held: ReadonlySet<Delivered>, observed?: Observed): Draft {
  const why: string[] = []
  const interfaces = mine.flatMap(one => {
    const { nic, is } = one
    if (is.fate === 'handOver') {
      why.push(`${nic.name} goes over to ${is.to}`)
      return [{ ...nic, source: is.to }]
    }
    if (is.fate === 'remove' && !held.has(one)) {
      why.push(`${nic.name} (port ${identityOf(nic)}) is taken away: ${is.why}`)
      return []
    }
    return [is.fate === 'keep' && is.port && observed ? updated(nic, is.port, observed) : nic]
  })
  const instanceId = vmIdOf(node, observed?.vms ?? []) ?? ''
  return { nodeName: node.nodeName, instanceId, held: node, interfaces, why }
}

function updated(nic: Interface, port: Port, observed: Observed): Interface {
  const match = addressesIn(port, observed.subnets)
  if (!('subnet' in match)) return nic
  return { index: nic.index, name: nic.name, ...contentOf(port, match, observed, nic) }
}

function deliveredPorts(delivered: readonly Delivered[]): (port: Port) => boolean {
  const ids = new Set(delivered.flatMap(({ nic, is }) => [nic.portId, is.fate === 'keep' ? is.port?.id : undefined]))
  const macs = new Set(delivered.map(({ node, nic }) => `${node.instanceId} ${nic.macAddress}`))
  return port => ids.has(port.id) || macs.has(`${port.deviceId} ${port.macAddress}`)
}

function judge(port: Port, observed: Observed): Candidate | Refusal {
  const refusal = refusalOfNew(port, observed.rules)
  if (refusal) return refusal
  const match = addressesIn(port, observed.subnets)
  return 'subnet' in match ? { port, match } : match
}

/** Numbers the candidates into the draft. */
function take(draft: Draft, vmId: string, candidates: Candidate[], observed: Observed): Verdict[] {
  const { numbered, overflow } = numberNew(
    candidates,
    draft.interfaces.map(nic => nic.index),
  )
  for (const { candidate, id } of numbered) {
    const name = interfaceName(id)
    draft.interfaces.push({ index: id, name, ...contentOf(candidate.port, candidate.match, observed) })
    draft.why.push(`port ${candidate.port.id} becomes ${name}`)
  }
  return [
    ...numbered.map(({ candidate, id }): Verdict => taken(candidate.port.id, vmId, interfaceName(id))),
    ...overflow.map(
      ({ port }): Verdict => ({
        portId: port.id,
        vm: vmId,
        reason: 'LimitReached',
        message: `${draft.nodeName} has ten interfaces already`,
      }),
    ),
  ]
}

function taken(portId: string, vm: string, name: string, by?: string): Verdict {
  return { portId, vm, reason: 'Selected', message: by ? `${name}, by ${by}` : name, name }
}

type NodeName = { node: string } | Refusal

/** The node of each VM: the one it was delivered under, else what Nova says, unless another VM has that name. */
function namesOf({ vms, held }: Observed): Map<string, NodeName> {
  const known = vmsById(vms)
  const names = new Map<string, NodeName>()
  for (const node of held) {
    const vmId = vmIdOf(node, vms)
    if (vmId !== undefined && known.has(vmId) && !names.has(vmId)) names.set(vmId, { node: node.nodeName })
  }
  const holders = new Map(held.map(node => [nodeKey(node.nodeName), node.instanceId]))
  const namesakes = Map.groupBy(known.values(), vm => nodeKey(vm.name ?? ''))
  for (const [vmId, vm] of known) if (!names.has(vmId)) names.set(vmId, newName(vmId, vm, holders, namesakes))
  return names
}

function newName(
  vmId: string,
  vm: VmFact,
  holders: ReadonlyMap<string, string | undefined>,
  namesakes: ReadonlyMap<string, VmFact[]>,
): NodeName {
  if (vm.state === 'gone') return { reason: 'VmNotFound', message: `Nova knows no server ${vm.entry}` }
  const { name } = vm
  if (vm.state !== 'known' || name === undefined)
    return { reason: 'NameUnknown', message: `Nova has not told the name of ${vm.entry}` }
  const key = nodeKey(name)
  const rival = holders.get(key) || namesakes.get(key)?.find(other => other.id !== vmId)?.id
  if (rival !== undefined) return { reason: 'NameNotUnique', message: `${vmId} and ${rival} are both called ${name}` }
  return { node: name }
}

function verdictOnDelivered({ node, nic, is }: Delivered, isSeen: boolean, source: string): Verdict[] {
  const vm = node.instanceId ?? node.nodeName
  const portId = identityOf(nic)
  if (is.fate === 'foreign') return isSeen ? [taken(portId, vm, nic.name, nic.source)] : []
  if (is.fate === 'handOver') return []
  return [taken(portId, vm, nic.name, nic.source === source ? undefined : nic.source)]
}

function movedTo(vm: string, { node, nic }: Delivered): Verdict {
  return {
    portId: identityOf(nic),
    vm,
    reason: 'VmNotSelected',
    message: `it was ${nic.name} of ${node.nodeName} before`,
  }
}

function verdictsOnVms({ vms, held }: Observed, names: ReadonlyMap<string, NodeName>): Verdict[] {
  const nodes = new Map(held.map(node => [node.instanceId, node.nodeName]))
  return vms.flatMap((vm): Verdict[] => {
    const subject = vm.id ?? vm.entry
    if (vm.state === 'notUnique')
      return [{ vm: subject, reason: 'VmNotUnique', message: `several servers are called ${vm.entry}` }]
    if (vm.state === 'gone') return [{ vm: subject, reason: 'VmNotFound', message: `Nova knows no server ${vm.entry}` }]
    const name = vm.id === undefined ? undefined : names.get(vm.id)
    if (name && 'reason' in name) return [{ vm: subject, ...name }]
    const node = vm.id === undefined ? undefined : nodes.get(vm.id)
    if (node && vm.name !== undefined && nodeKey(node) !== nodeKey(vm.name))
      return [{ vm: subject, reason: 'NameChanged', message: `${node} is now called ${vm.name} in Nova` }]
    return []
  })
}

function questionAbout({ node, nic }: Delivered, { vms }: Observed): Question {
  const vmId = vmIdOf(node, vms) ?? ''
  return { vmId, macAddress: nic.macAddress, ...(nic.portId !== undefined && { portId: nic.portId }) }
}

function settled(draft: Draft): NodePlan {
  const { nodeName, instanceId, held, why } = draft
  const interfaces = [...draft.interfaces].sort((a, b) => a.index - b.index)
  const node = { nodeName, instanceId, interfaces, expectedSpecHash: held?.specHash ?? '', why }
  if (!held) return { ...node, action: 'send' }
  if (interfaces.length === 0) return { ...node, action: held.interfaces.length > 0 ? 'remove' : 'keep' }
  const same = (held.instanceId ?? '') === instanceId && sameInterfaces(held.interfaces, interfaces)
  if (!same && why.length === 0) why.push('the ports, subnets or networks changed')
  return { ...node, action: same ? 'keep' : 'send' }
}

function sameInterfaces(a: readonly Interface[], b: readonly Interface[]): boolean {
  return a.length === b.length && a.every((nic, position) => equalInterfaces(nic, b[position] ?? nic))
}

function downPorts(nodes: readonly NodePlan[], { ports, source }: Observed): Plan['down'] {
  const down = new Set(ports.filter(port => port.status.toUpperCase() === 'DOWN').map(port => port.id))
  return nodes.flatMap(node =>
    node.interfaces
      .filter(nic => nic.source === source && down.has(nic.portId ?? ''))
      .map(nic => ({ nodeName: node.nodeName, portId: nic.portId ?? '' })),
  )
}
