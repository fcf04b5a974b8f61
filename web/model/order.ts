/**
 * The order of nodes in lists. Pure.
 */
import { type Node, type Severity, severities } from './nodes.ts'

const rank = new Map<Severity | undefined, number>(severities.map((severity, index) => [severity, index]))

/** worker-9 before worker-10. */
export const compareNatural = new Intl.Collator('en', { numeric: true }).compare

export function byName(a: Node, b: Node): number {
  return compareNatural(a.nodeName, b.nodeName) || compareNatural(a.providerId, b.providerId)
}

export function worstFirst(a: Node, b: Node): number {
  return (rank.get(a.worst) ?? severities.length) - (rank.get(b.worst) ?? severities.length) || byName(a, b)
}

export function newestFirst(a: Node, b: Node): number {
  return a.updatedAt === b.updatedAt ? byName(a, b) : a.updatedAt < b.updatedAt ? 1 : -1
}
