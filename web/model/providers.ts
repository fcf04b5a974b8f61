/**
 * Nodes grouped by provider. Pure.
 */
import { providerNameIn } from '../../src/contract/provider-name.ts'
import { type Node, type Severity, severities } from './nodes.ts'
import { compareNatural } from './order.ts'

export interface ProviderNames {
  providerId: string
  /** Empty if it has none. */
  providerName: string
}

export interface Provider extends ProviderNames {
  nodes: Node[]
  worst: Severity
}

/** Worst first. */
export function providersOf(nodes: readonly Node[]): Provider[] {
  return groupsOf(nodes)
    .map(group => ({
      ...group,
      worst:
        severities.find(severity => group.nodes.some(({ worst }) => worst === severity)) ?? ('configured' as const),
    }))
    .sort((a, b) => severities.indexOf(a.worst) - severities.indexOf(b.worst) || byText(a, b))
}

/** By name. */
export function providerNamesOf(nodes: readonly Node[]): ProviderNames[] {
  return groupsOf(nodes).sort(byText)
}

export function providerOf(nodes: readonly Node[], providerId: string): ProviderNames {
  return namesOf(
    providerId,
    nodes.filter(node => node.providerId === providerId),
  )
}

function groupsOf(nodes: readonly Node[]) {
  const groups = Map.groupBy(nodes, ({ providerId }) => providerId)
  return [...groups].map(([providerId, own]) => ({ ...namesOf(providerId, own), nodes: own }))
}

function namesOf(providerId: string, nodes: readonly Node[]): ProviderNames {
  return { providerId, providerName: providerNameIn(nodes) ?? '' }
}

function byText(a: ProviderNames, b: ProviderNames): number {
  const text = ({ providerId, providerName }: ProviderNames) => providerName || providerId
  return compareNatural(text(a), text(b)) || compareNatural(a.providerId, b.providerId)
}
