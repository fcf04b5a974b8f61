/**
 * Maps names of nodes, VMs and providers to valid Kubernetes names and labels.
 *
 * Existing objects were created with this mapping. Changing it orphans them.
 */

import { nodeConfigLabels } from './node-config.ts'
import { escaped } from './truncate.ts'

/** A node's name as an object name (RFC 1123 subdomain). Two nodes may map to one name; the planner refuses that. */
export function objectName(nodeName: string): string {
  const mapped = nodeName
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .replace(/[-.]*\.[-.]*/g, '.')
  return trimmed(mapped, 253) || 'node'
}

/** Why a text cannot be the name of a node, which is shown to people and part of URLs. Undefined if it can. */
export function nodeNameError(name: string): string | undefined {
  if (isDotSegment(name)) return `"${name}" is a relative path`
  const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
  const shown = name.replace(invisible, escaped)
  return shown === name ? undefined : `"${shown}" has control or invisible characters`
}

/** URLs resolve these, also when they are encoded. */
export function isDotSegment(name: string): boolean {
  return name === '.' || name === '..'
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
