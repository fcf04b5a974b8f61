/**
 * The switch behind each word, for a sandbox that is up.
 */
import type { SandboxBus } from '../bus.ts'
import type { Cloud } from '../cloud.ts'
import { busSwitches } from './bus.ts'
import { cloudSwitches } from './cloud.ts'
import { type ClusterPlaces, clusterSwitches } from './cluster.ts'
import { type NodePlaces, nodeSwitches } from './node.ts'
import { createSwitchboard, type FaultSwitchboard } from './switchboard.ts'

export interface FaultPlaces extends NodePlaces {
  cloud: Cloud
  bus: SandboxBus | undefined
  cluster: ClusterPlaces
}

export function openFaults(places: FaultPlaces): FaultSwitchboard {
  const { world, cloud, bus, cluster, nodes, log } = places
  const switches = {
    ...cloudSwitches(world, cloud),
    ...busSwitches(world, bus),
    ...clusterSwitches(cluster),
    ...nodeSwitches(places),
  }
  return createSwitchboard(switches, () => nodes.keys(), log)
}
