/**
 * Which machine a config is for, and what a Node tells of its machine.
 */
import { type NodeConfig, nodeConfigLabels } from '../contract/node-config.ts'
import type { NodeObject } from '../kube/types.ts'
import { nodeCondition } from './node-condition.ts'
import type { Backend, NodeFacts } from './plan/observed.ts'

export { isSameMachine, spellingsOf } from '../contract/machine.ts'

/** On a Node: overrides what its osImage tells. */
export const backendLabel = 'multinic.io/backend'

/** Older configs carry the id as a label only. */
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
    heard: !conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
    addresses: addresses.filter(({ type }) => /^(Internal|External)IP$/.test(type)).map(({ address }) => address),
    backend: backendOf(nodeInfo.osImage ?? '', node.metadata.labels?.[backendLabel]),
    ...(condition && { condition }),
  }
}

/** The label on the Node wins. Anything that is not of the Red Hat family gets Netplan; the agent refuses what it is not. */
export function backendOf(osImage: string, label?: string): Backend {
  if (label === 'netplan' || label === 'networkmanager' || label === 'ifcfg') return label
  const family = /red hat|rhel|centos|rocky|alma|oracle|fedora/i
  if (!family.test(osImage)) return 'netplan'
  const version = /\b(\d+)(\.\d+)*\b/.exec(osImage)?.[1]
  return version === '7' || version === '8' ? 'ifcfg' : 'networkmanager'
}
