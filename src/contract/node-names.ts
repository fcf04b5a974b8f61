/**
 * From the names of nodes, VMs and providers to names and labels that Kubernetes takes.
 *
 * The mapping is the one that existing objects were made with: whoever changes it orphans them.
 */
import { nodeConfigLabels } from './node-config.ts'

/** A node's name as an object name (RFC 1123 subdomain). Different nodes may meet in one name: the planner refuses that. */
export function objectName(nodeName: string): string {
  const mapped = nodeName
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .replace(/[-.]*\.[-.]*/g, '.')
  return trimmed(mapped, 253) || 'node'
}

/** Any text as a label value. */
export function labelValue(text: string): string {
  return trimmed(text.toLowerCase().replace(/[^a-z0-9._-]/g, '-'), 63) || 'unknown'
}

export function labelsOf(node: { nodeName: string; instanceId?: string }, providerId: string): Record<string, string> {
  return {
    [nodeConfigLabels.nodeName]: labelValue(node.nodeName),
    ...(node.instanceId ? { [nodeConfigLabels.instanceId]: labelValue(node.instanceId) } : {}),
    [nodeConfigLabels.providerId]: labelValue(providerId),
  }
}

function trimmed(text: string, length: number): string {
  return text
    .replace(/^[._-]+/, '')
    .slice(0, length)
    .replace(/[._-]+$/, '')
}
