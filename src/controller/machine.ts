/**
 * The machine that a config names, and the facts that a Node reports about its machine.
 */
import { type NodeConfig, nodeConfigLabels } from '../contract/node-config.ts'
import type { NodeObject } from '../kube/types.ts'
import { nodeCondition } from './node-condition.ts'
import type { Backend, NodeFacts } from './plan/observed.ts'

export { isSameMachine, spellingsOf } from '../contract/machine.ts'

/** A label on the Node: overrides the backend that its osImage implies. */
export const backendLabel = 'multinic.io/backend'

/** Older configs have the id only as a label. */
export function instanceIdOf(config: NodeConfig): string {
  return config.spec.instanceId || config.metadata.labels?.[nodeConfigLabels.instanceId] || ''
}

export function factsOf(node: NodeObject): NodeFacts {
  const { addresses = [], conditions = [], nodeInfo = {} } = node.status ?? {}
  const condition = conditions.find(({ type }) => type === nodeCondition)
  return {
    name: node.metadata.name,
    systemUUID: nodeInfo.systemUUID ?? '',
    bootID: nodeInfo.bootID ?? '',
    reachable: !conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
    addresses: addresses.filter(({ type }) => /^(Internal|External)IP$/.test(type)).map(({ address }) => address),
    backend: backendOf(nodeInfo.osImage ?? '', node.metadata.labels?.[backendLabel]),
    ...(condition && { condition }),
  }
}

/** The label on the Node wins. Every distribution outside the Red Hat family counts as Netplan; the agent rejects a mismatch. */
export function backendOf(osImage: string, label?: string): Backend {
  if (label === 'netplan' || label === 'networkmanager' || label === 'ifcfg') return label
  const family = /red hat|rhel|centos|rocky|alma|oracle|fedora/i
  if (!family.test(osImage)) return 'netplan'
  const version = /\b(\d+)(\.\d+)*\b/.exec(osImage)?.[1]
  return version === '7' || version === '8' ? 'ifcfg' : 'networkmanager'
}
