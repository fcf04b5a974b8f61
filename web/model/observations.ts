/**
 * How old the last observation of a NIC is, and which NICs nobody vouches for. Pure.
 */
import { type Observation, observationOf } from '../../src/contract/observation.ts'
import type { Nic, Node } from './nodes.ts'

export function observationAt({ observation }: Pick<Nic, 'observation'>, now: number): Observation {
  return observationOf(observation, new Date(now))
}

export interface UnverifiedNic {
  node: Node
  nic: Nic
  since: string
}

/** NICs that nobody has observed although a check was due. Oldest observation first. */
export function unverifiedIn(nodes: readonly Node[], now: number): UnverifiedNic[] {
  return nodes
    .flatMap(node =>
      node.nics.flatMap(nic => {
        const since = observationAt(nic, now).notVerifiedSince
        return since === undefined ? [] : [{ node, nic, since }]
      }),
    )
    .sort((a, b) => (a.since < b.since ? -1 : 1))
}

/** Shortest interval of the checks of these nodes, in milliseconds. */
export function checkIntervalOf(nodes: readonly Node[]): number {
  const seconds = nodes.flatMap(({ nics }) => nics.flatMap(({ observation }) => observation.checkIntervalSeconds ?? []))
  return 1_000 * seconds.reduce((min, each) => Math.min(min, each), 3_600)
}
