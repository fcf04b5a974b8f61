/**
 * Fault injection for a running sandbox: one injector per fault name.
 */
import type { Cloud } from '../cloud/cloud.ts'
import type { MessageBus } from '../cloud/message-bus.ts'
import { createFaultControl, type FaultControl, type FaultInjector } from './active-faults.ts'
import { busInjectors } from './bus.ts'
import { cloudInjectors } from './cloud.ts'
import { type ClusterFaultContext, clusterInjectors } from './cluster.ts'
import { type NodeFaultContext, nodeInjectors } from './node.ts'

export interface FaultContext extends NodeFaultContext {
  cloud: Cloud
  bus: MessageBus | undefined
  cluster: ClusterFaultContext
}

export function createFaults(context: FaultContext): FaultControl {
  const { cloudState, cloud, bus, cluster, nodes, log } = context
  const ofCloud = { ...cloudInjectors(cloudState, cloud), ...busInjectors(cloudState, bus) }
  const injectors = {
    ...(cloud.attacher ? onlyContrabass(ofCloud) : ofCloud),
    ...clusterInjectors(cluster),
    ...nodeInjectors(context),
  }
  return createFaultControl(injectors, () => nodes.keys(), log)
}

/** Contrabass is simulated even when the rest of the cloud is real. */
function onlyContrabass<S extends Record<string, FaultInjector>>(injectors: S): S {
  const refuse = (name: string): FaultInjector => {
    return async () => {
      throw new Error(`${name}: not available with --openstack real`)
    }
  }
  const changed = Object.entries(injectors).map(([name, injector]) => [
    name,
    name.endsWith('-contrabass') ? injector : refuse(name),
  ])
  return Object.fromEntries(changed) as S
}
