/**
 * The switch behind each word, for a sandbox that is up.
 */

import type { Cloud } from '../cloud/cloud.ts'
import type { SandboxBus } from '../cloud/message-bus.ts'
import { createSwitchboard, type FaultSwitchboard, type Switch } from './active-faults.ts'
import { busSwitches } from './bus.ts'
import { cloudSwitches } from './cloud.ts'
import { type ClusterPlaces, clusterSwitches } from './cluster.ts'
import { type NodePlaces, nodeSwitches } from './node.ts'

export interface FaultPlaces extends NodePlaces {
  cloud: Cloud
  bus: SandboxBus | undefined
  cluster: ClusterPlaces
}

export function openFaults(places: FaultPlaces): FaultSwitchboard {
  const { world, cloud, bus, cluster, nodes, log } = places
  const ofCloud = { ...cloudSwitches(world, cloud), ...busSwitches(world, bus) }
  const switches = {
    ...(cloud.hands ? refusing(ofCloud) : ofCloud),
    ...clusterSwitches(cluster),
    ...nodeSwitches(places),
  }
  return createSwitchboard(switches, () => nodes.keys(), log)
}

/** Contrabass is ours in any case. */
function refusing<S extends Record<string, Switch>>(switches: S): S {
  const refuse = (word: string): Switch => {
    return async () => {
      throw new Error(`${word}: this cloud is a real one, which cannot be told to do that`)
    }
  }
  const changed = Object.entries(switches).map(([word, own]) => [
    word,
    word.endsWith('-contrabass') ? own : refuse(word),
  ])
  return Object.fromEntries(changed) as S
}
