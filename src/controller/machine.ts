/**
 * The machine that a config names, and the facts that a Node reports about its machine.
 */
import { canonical } from '../contract/address.ts'
import { backendOf } from '../contract/backend.ts'
import { internalIpsOf } from '../contract/internal-ips.ts'
import { type NodeConfig, nodeConfigLabels } from '../contract/node-config.ts'
import type { NodeObject } from '../kube/types.ts'
import { nodeCondition } from './node-condition.ts'
import type { NodeFacts } from './plan/observed.ts'

export { isSameMachine, spellingsOf } from '../contract/machine.ts'

/** A label on the Node: overrides NETWORK_TAKEOVER. */
export const takeoverLabel = 'multinic.io/takeover'

/** An annotation of the kubelet: the addresses of its flag --node-ip. */
export const providedAddresses = 'alpha.kubernetes.io/provided-node-ip'

/** Configs of the Go implementation have the id only as a label. */
export function instanceIdOf(config: NodeConfig): string {
  return config.spec.instanceId || config.metadata.labels?.[nodeConfigLabels.instanceId] || ''
}

export function otherMachineMessage(config: NodeConfig, { systemUUID }: Pick<NodeFacts, 'systemUUID'>): string {
  return `node ${config.spec.nodeName} has system UUID ${systemUUID}, not ${instanceIdOf(config)}`
}

export function twinsMessage(config: NodeConfig, twins: readonly string[]): string {
  return `nodes ${twins.join(', ')} report the same system UUID ${instanceIdOf(config)}`
}

export function factsOf(node: NodeObject): NodeFacts {
  const { conditions = [], nodeInfo = {} } = node.status ?? {}
  const takeover = node.metadata.labels?.[takeoverLabel]
  const condition = conditions.find(({ type }) => type === nodeCondition)
  return {
    name: node.metadata.name,
    systemUUID: nodeInfo.systemUUID ?? '',
    bootID: nodeInfo.bootID ?? '',
    reachable: isReachable(node),
    internalIPs: internalIpsOf(node),
    addresses: nodeAddressCandidates(node),
    podCIDRs: node.spec?.podCIDRs ?? [],
    backend: backendOf(node),
    // A typing error must not take over a NIC.
    ...(takeover !== undefined && { takeover: takeover === 'dynamic' ? 'dynamic' : 'refuse' }),
    ...(condition && { condition }),
  }
}

/** False when the control plane lost contact. */
export function isReachable({ status: { conditions = [] } = {} }: NodeObject): boolean {
  return !conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown')
}

/** The first candidate of each family: the address by which the cluster reaches the node. */
export function ownAddressesOf(node: NodeObject): string[] {
  return firstAddresses(nodeAddressCandidates(node))
}

/** The first address of each family is always the node's own. */
export function firstAddresses(addresses: readonly string[]): string[] {
  const first = [addresses.find(text => !text.includes(':')), addresses.find(text => text.includes(':'))]
  return first.filter(text => text !== undefined)
}

/**
 * Per family: the address that the kubelet got as --node-ip, else the only InternalIP, else all listed addresses in their
 * order. A cloud provider may list every port of the VM; only the agent sees which of these has the default route.
 */
function nodeAddressCandidates(node: NodeObject): string[] {
  const canonicalOf = (texts: readonly string[]) => texts.flatMap(text => canonical(text.trim()) ?? [])
  const provided = canonicalOf(node.metadata.annotations?.[providedAddresses]?.split(',') ?? [])
  const internal = internalIpsOf(node)
  const external = (node.status?.addresses ?? []).filter(({ type }) => type === 'ExternalIP')
  const listed = [...internal, ...canonicalOf(external.map(({ address }) => address))]
  return [false, true].flatMap(isIPv6 => {
    const inFamily = (texts: readonly string[]) => texts.filter(text => text.includes(':') === isIPv6)
    const [given, only] = [inFamily(provided), inFamily(internal)]
    return given.length > 0 ? given : only.length === 1 ? only : inFamily(listed)
  })
}
