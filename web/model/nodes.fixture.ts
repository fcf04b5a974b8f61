/**
 * Nodes of a generated fleet, for tests of layouts.
 */
import { aFleet } from '../../test/support/fleet.ts'
import { type Node, nodeOf } from './nodes.ts'

export function fleetNodes(count: number): Node[] {
  return aFleet({ nodes: count, now: new Date('2026-01-02T00:00:00Z') }).map(write =>
    nodeOf({ ...write, updatedAt: '2026-01-02T00:00:00Z' }, []),
  )
}
