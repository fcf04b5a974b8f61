/**
 * What becomes of each interface that this object delivered earlier: kept, taken away, or first a question.
 *
 * Pure. A failed, empty or shorter read never removes anything (G2): absence from the listing is only a question. The
 * user's own edit is a signal; so is a port that the cloud, asked twice, no longer has on the VM. Many of the latter at
 * once are held until a person lets them go.
 */
import type { Interface } from '../contract/interfaces.ts'
import { type HeldNode, identityOf, type Observed, type Port, type VmFact } from './observed-state.ts'
import { addressesIn } from './verdicts.ts'

export type Fate =
  | { fate: 'foreign' }
  | { fate: 'keep'; port?: Port }
  /** The listing does not show it: nobody has been asked yet. */
  | { fate: 'ask' }
  | { fate: 'remove'; why: string; edit: boolean }
  | { fate: 'handOver'; to: string }

export interface Delivered {
  node: HeldNode
  nic: Interface
  is: Fate
}

/** Below so many, removals are never held. */
const fewRemovals = 3
const heldShare = 0.2

export function fatesOf(observed: Observed): Delivered[] {
  const vms = vmsById(observed.vms)
  const ports = portIndex(observed.ports)
  return observed.held.flatMap(node =>
    node.interfaces.map(nic => ({ node, nic, is: fateOf(observed, vms, ports, node, nic) })),
  )
}

function fateOf(
  observed: Observed,
  vms: ReadonlyMap<string, VmFact>,
  ports: FindPort,
  node: HeldNode,
  nic: Interface,
): Fate {
  const vmId = vmIdOf(node, observed.vms)
  const port = ports(nic, vmId)
  const here = port !== undefined && port.deviceId === vmId
  const match = port && addressesIn(port, observed.subnets)
  const wanted = here && match !== undefined && 'subnet' in match
  if (!isOurs(observed, nic, wanted)) return { fate: 'foreign' }

  if (vmId === undefined || !vms.has(vmId)) {
    // An entry that Nova could not resolve may be this very VM: then nobody took it out.
    const unresolved = observed.vms.some(vm => vm.id === undefined)
    if (!unresolved) return released(observed, node, nic, 'its VM is no longer in vmNames')
  }
  if (here && match) {
    if ('subnet' in match) return { fate: 'keep', port }
    const edit = observed.subnetsById && !observed.subnets.some(subnet => subnet.id === nic.subnetId)
    if (edit) return released(observed, node, nic, 'its subnet is no longer chosen')
    return { fate: 'remove', why: match.message, edit: false }
  }
  const answer = observed.answers.get(identityOf(nic))
  if (answer === undefined) return { fate: 'ask' }
  return answer === 'detached' ? { fate: 'remove', why: 'it was detached from the VM', edit: false } : { fate: 'keep' }
}

/**
 * Ours: delivered by this object; or wanted by it and delivered by nobody that still exists (an older operator, an object
 * that was deleted and left it there).
 */
function isOurs({ source, claims }: Observed, nic: Interface, wanted: boolean): boolean {
  if (nic.source === source) return true
  return wanted && !claims.some(claim => claim.source === nic.source)
}

/** What this object lets go, another one may want: then it changes hands instead of vanishing for a moment. */
export function released({ claims }: Pick<Observed, 'claims'>, node: HeldNode, nic: Interface, why: string): Fate {
  const heir = claims.find(
    claim => claim.vmIds.includes(node.instanceId ?? '') && claim.subnetIds.includes(nic.subnetId ?? ''),
  )
  return heir ? { fate: 'handOver', to: heir.source } : { fate: 'remove', why, edit: true }
}

/**
 * The removals that wait for a person; empty when none have to.
 *
 * Those that nobody could be asked about count among the many. What is held once stays held.
 */
export function heldBack(
  delivered: readonly Delivered[],
  { release, holding }: Pick<Observed, 'release' | 'holding'>,
): ReadonlySet<Delivered> {
  const ours = delivered.filter(({ is }) => is.fate !== 'foreign')
  const vanished = ours.filter(({ is }) => is.fate === 'remove' && !is.edit)
  const going = vanished.length + ours.filter(({ is }) => is.fate === 'ask').length
  const many = going >= fewRemovals && going > ours.length * heldShare
  return new Set((many || holding) && !release ? vanished : [])
}

export function vmsById(vms: readonly VmFact[]): Map<string, VmFact> {
  return new Map(vms.flatMap(vm => (vm.id === undefined ? [] : [[vm.id, vm]])))
}

/** A node config without an instance id (made by hand, or by an older operator) belongs to the VM of its name. */
export function vmIdOf(node: HeldNode, vms: readonly VmFact[]): string | undefined {
  if (node.instanceId) return node.instanceId
  const named = vms.filter(vm => vm.name !== undefined && nodeKey(vm.name) === nodeKey(node.nodeName))
  return named.length === 1 ? named[0]?.id : undefined
}

/** Node names become object names in lower case: two that differ only so are one node. */
export function nodeKey(name: string): string {
  return name.toLowerCase()
}

/** By port id; by MAC where no port id is known, or where the port was made anew with the MAC that the node knows. */
function portIndex(ports: readonly Port[]): FindPort {
  const byId = new Map(ports.map(port => [port.id, port]))
  const byMac = new Map(ports.map(port => [`${port.deviceId} ${port.macAddress}`, port]))
  return (nic, vmId) => {
    const own = nic.portId === undefined ? undefined : byId.get(nic.portId)
    return own?.deviceId === vmId ? own : (byMac.get(`${vmId} ${nic.macAddress}`) ?? own)
  }
}

type FindPort = (nic: Interface, vmId: string | undefined) => Port | undefined
