/**
 * Which Node a config names, and which other configs name the same one.
 */
import { hostPart } from '../contract/address.ts'
import type { NodeAddress } from '../contract/agent-input.ts'
import { addressesOf, type Interface } from '../contract/interfaces.ts'
import { type NodeConfig, nodeConfigFinalizer } from '../contract/node-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { Caches } from './caches.ts'
import { factsOf, instanceIdOf, isSameMachine, spellingsOf } from './machine.ts'
import { isLegacyEntry } from './plan/config-status.ts'
import type { Duplicate, NodeFacts, Observed } from './plan/observed.ts'

/** By SystemUUID; by name only when the config names no machine. */
export function findNode({ nodes }: Caches, config: NodeConfig): Pick<Observed, 'node' | 'otherMachine' | 'twins'> {
  const named = nodes.get(config.spec.nodeName)
  const instanceId = instanceIdOf(config)
  if (!instanceId) return named ? { node: factsOf(named) } : {}
  const found = [...new Set(spellingsOf(instanceId).flatMap(spelling => nodes.by('machine', spelling)))]
  const twins = found.length > 1 ? { twins: found.map(({ metadata }) => metadata.name).toSorted() } : {}
  if (named && isSameMachine(instanceId, named.status?.nodeInfo?.systemUUID ?? ''))
    return { node: factsOf(named), ...twins }
  const [only] = found
  // When two Nodes report the same SystemUUID, neither is known to be the right one.
  if (only && found.length === 1) return { node: factsOf(only) }
  return named ? { otherMachine: factsOf(named), ...twins } : twins
}

/** Requested addresses that another Node has as its own. */
export function addressesOfOthers(
  { nodes }: Pick<Caches, 'nodes'>,
  { name }: Pick<NodeFacts, 'name'>,
  interfaces: readonly Interface[],
): NodeAddress[] {
  const hosts = [...new Set(interfaces.flatMap(addressesOf).map(hostPart))]
  return hosts.flatMap(address => {
    const other = nodes.by('address', address).find(({ metadata }) => metadata.name !== name)
    return other ? [{ address, nodeName: other.metadata.name }] : []
  })
}

export function duplicatesOf(caches: Caches, config: NodeConfig, node: NodeFacts | undefined): Duplicate[] {
  const age = ageOf(config)
  const byAge = othersForNode(caches, config, node).map(other => ({ other, otherAge: ageOf(other) }))
  byAge.sort((a, b) => (a.otherAge < b.otherAge ? -1 : 1))
  return byAge.map(({ other, otherAge }) => ({
    name: other.metadata.name,
    older: otherAge < age,
    deleting: other.metadata.deletionTimestamp !== undefined,
    hasFinalizer: other.metadata.finalizers?.includes(nodeConfigFinalizer) ?? false,
    ...(isLegacyEntry(other) && { legacy: true as const }),
  }))
}

/** Keys of the configs that wait behind this one. None if an older config manages the node. */
export function keysWaitingBehind(caches: Caches, config: NodeConfig): string[] {
  if (config.metadata.deletionTimestamp) return []
  const others = othersForNode(caches, config, findNode(caches, config).node)
  const age = ageOf(config)
  const waits = others.some(other => !other.metadata.deletionTimestamp && ageOf(other) < age)
  return waits ? [] : others.map(keyOf)
}

/** Configs that name this node, or its machine. */
export function configsForNode({ configs }: Pick<Caches, 'configs'>, nodeName: string, systemUUID = ''): NodeConfig[] {
  const found = [
    ...configs.by('node', nodeName),
    ...spellingsOf(systemUUID).flatMap(spelling => configs.by('machine', spelling)),
  ]
  return [...new Set(found)]
}

function othersForNode({ configs, nodes }: Caches, config: NodeConfig, node: NodeFacts | undefined): NodeConfig[] {
  const machineOf = (one: NodeConfig) =>
    instanceIdOf(one) || nodes.get(one.spec.nodeName)?.status?.nodeInfo?.systemUUID || ''
  const machine = instanceIdOf(config) || node?.systemUUID || ''
  const found = [
    ...[config.spec.nodeName, node?.name ?? ''].flatMap(name => configs.by('node', name)),
    ...spellingsOf(machine).flatMap(spelling => configs.by('machine', spelling)),
  ]
  return [...new Set(found)].filter(other => {
    if (other.metadata.uid === config.metadata.uid) return false
    const theirs = machineOf(other)
    // A config for another machine cannot manage this one, whatever node it names. Without a machine, the name decides,
    // except in a MultiNicBizConfig, where it is a hint.
    return theirs && machine ? isSameMachine(theirs, machine) : !isLegacyEntry(other) && !isLegacyEntry(config)
  })
}

/** Sorts by age: the smaller text is the older config. An entry of a MultiNicBizConfig is younger than any other. */
function ageOf(config: NodeConfig): string {
  return `${isLegacyEntry(config) ? 1 : 0} ${config.metadata.creationTimestamp ?? ''} ${config.metadata.name}`
}
