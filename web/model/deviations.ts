/**
 * The NICs that are not as requested, and those that nobody has verified in time. One function for every count and list of them.
 * Pure.
 */
import { causeOf, type Nic, type Node, severities } from './nodes.ts'
import { observationAt } from './observations.ts'

/** A field of a NIC that differs between the request, the delivery and the observation. */
export interface FieldDeviation {
  field: string
  requested: string
  delivered: string
  observed: string
}

export interface NicDeviation {
  node: Node
  nic: Nic
  fields: FieldDeviation[]
  reason: string
  message: string
  remedy: string
  isUnverified: boolean
}

/** Worst first. */
export function deviationsIn(nodes: readonly Node[], now: number): NicDeviation[] {
  return nodes
    .flatMap(node =>
      node.nics.flatMap((nic): NicDeviation[] => {
        const isUnverified = observationAt(nic, now).notVerifiedSince !== undefined
        if (nic.severity === 'configured' && !isUnverified) return []
        const fields = nic.differences.map(({ field, wanted, observed, delivered = wanted }) => ({
          ...{ field, delivered, observed },
          requested: wanted,
        }))
        return [{ node, nic, fields, ...causeOf(nic), isUnverified }]
      }),
    )
    .sort((a, b) => severities.indexOf(a.nic.severity) - severities.indexOf(b.nic.severity))
}
