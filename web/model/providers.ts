/**
 * Nodes grouped by provider. Pure.
 */
import { type Node, type Severity, severities } from './nodes.ts'

export interface Provider {
  providerId: string
  nodes: Node[]
  worst: Severity
}

/** Worst first. */
export function providersOf(nodes: readonly Node[]): Provider[] {
  return [...Map.groupBy(nodes, ({ providerId }) => providerId)]
    .map(([providerId, own]) => ({
      providerId,
      nodes: own,
      worst: severities.find(severity => own.some(({ worst }) => worst === severity)) ?? ('configured' as const),
    }))
    .sort((a, b) => severities.indexOf(a.worst) - severities.indexOf(b.worst) || (a.providerId < b.providerId ? -1 : 1))
}

export const providerIdsOf = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.map(({ providerId }) => providerId))].sort()
