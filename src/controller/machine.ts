/**
 * Which machine a config is for, and what a Node tells of its machine.
 */
import { type NodeConfig, nodeConfigLabels } from '../contract/node-config.ts'
import type { NodeObject } from '../kube/types.ts'
import { nodeCondition } from './node-condition.ts'
import type { Backend, NodeFacts } from './observed.ts'

/** On a Node: overrides what its osImage tells. */
export const backendLabel = 'multinic.io/backend'

/** Older configs carry the id as a label only. */
export function instanceIdOf(config: NodeConfig): string {
  return config.spec.instanceId || config.metadata.labels?.[nodeConfigLabels.instanceId] || ''
}

/**
 * The spellings of one machine's UUID: in lower case, and with the bytes of its first three groups swapped, as firmware
 * that follows the older SMBIOS reports it. Two ids are one machine when they share a spelling.
 */
export function spellingsOf(uuid: string): string[] {
  const text = uuid.trim().toLowerCase()
  const groups = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-(.+)$/.exec(text)
  if (!groups) return text ? [text] : []
  const [, a = '', b = '', c = '', rest = ''] = groups
  const other = `${swapped(a)}-${swapped(b)}-${swapped(c)}-${rest}`
  return other === text ? [text] : [text, other]
}

export function isSameMachine(a: string, b: string): boolean {
  const spellings = spellingsOf(a)
  return spellingsOf(b).some(spelling => spellings.includes(spelling))
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

function swapped(hex: string): string {
  let bytes = ''
  for (let at = hex.length; at > 0; at -= 2) bytes += hex.slice(at - 2, at)
  return bytes
}
