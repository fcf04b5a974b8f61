/**
 * Fault injection for a running sandbox: one injector per fault name.
 */
import type { Cloud } from '../cloud/cloud.ts'
import type { MessageBus } from '../cloud/message-bus.ts'
import { createFaultControl, type FaultControl, type FaultInjectors } from './active-faults.ts'
import { busInjectors } from './bus.ts'
import { faultNames } from './catalogue.ts'
import { cloudInjectors } from './cloud.ts'
import { type ClusterFaultContext, clusterInjectors } from './cluster.ts'
import { type NodeFaultContext, nodeInjectors } from './node.ts'
import { type RealServices, unavailable } from './unavailable.ts'

export interface FaultContext extends NodeFaultContext {
  cloud: Cloud
  bus: MessageBus | undefined
  cluster: ClusterFaultContext
  /** Which services are real. */
  real: RealServices
}

export function createFaults(context: FaultContext): FaultControl {
  const { cloudState, cloud, bus, cluster, nodes, real, log } = context
  const injectors: FaultInjectors = {
    ...cloudInjectors(cloudState, cloud),
    ...busInjectors(cloudState, bus),
    ...clusterInjectors(cluster),
    ...nodeInjectors(context),
  }
  for (const name of faultNames) {
    const reason = unavailable(name, real)
    if (reason !== undefined) injectors[name] = () => Promise.reject(new Error(reason))
  }
  return createFaultControl(injectors, () => nodes.keys(), log)
}
