/**
 * The network configuration that a node reads at boot, as the control plane derives it from the Node.
 */
import type { ObjectMeta } from './object.ts'

export type Backend = 'netplan' | 'networkmanager' | 'ifcfg'

/** A label on the Node: overrides the backend that its osImage implies. */
export const backendLabel = 'multinic.io/backend'

/** Every distribution outside the Red Hat family counts as Netplan; the agent rejects a mismatch. */
export function backendOf(node: { metadata: ObjectMeta; status?: { nodeInfo?: { osImage?: string } } }): Backend {
  const label = node.metadata.labels?.[backendLabel]
  if (label === 'netplan' || label === 'networkmanager' || label === 'ifcfg') return label
  // Stryker disable next-line StringLiteral: any text outside the family is the same.
  const osImage = node.status?.nodeInfo?.osImage ?? ''
  const family = /red hat|rhel|centos|rocky|alma|oracle|fedora/i
  if (!family.test(osImage)) return 'netplan'
  const version = /\b\d+\b/.exec(osImage)?.[0]
  return version === '7' || version === '8' ? 'ifcfg' : 'networkmanager'
}
