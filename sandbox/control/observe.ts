/**
 * Reads what the status of the sandbox is computed from: the ports of the VMs and the objects of both clusters.
 */
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { Kube } from '../../src/kube/api.ts'
import { attachedPorts } from '../cloud/attach.ts'
import type { CloudState } from '../cloud/state.ts'
import type { FaultControl } from '../faults/active-faults.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { ObservedSandbox } from './status.ts'

export interface ObserveInput extends Pick<ObservedSandbox, 'kubeconfigs' | 'tokenFile' | 'urls' | 'host'> {
  cloudState: CloudState
  nodes: ReadonlyMap<string, SandboxNode>
  /** Errors of failed reboots, by node. */
  failedReboots: ReadonlyMap<string, string>
  management: Pick<Kube, 'list'>
  biz: Pick<Kube, 'list'>
  faults: Pick<FaultControl, 'active'>
}

export async function observeSandbox(input: ObserveInput): Promise<ObservedSandbox> {
  const { cloudState, nodes, failedReboots, management, biz, kubeconfigs, tokenFile, urls, faults, host } = input
  const [delivered, configs] = await Promise.allSettled([biz.list(nodeConfigs), management.list(openstackConfigs)])
  const unreachable = [
    ...(delivered.status === 'rejected' ? ['the API server of the Biz cluster'] : []),
    ...(configs.status === 'rejected' ? ['the API server of the management cluster'] : []),
  ]
  return {
    nodes: [...nodes.values()].map(({ name, server }) => ({
      name,
      failure: failedReboots.get(name),
      ports: attachedPorts(cloudState, server).map(port => ({
        id: port.id,
        macAddress: port.macAddress,
        subnet: cloudState.subnets.get(port.fixedIps[0]?.subnetId ?? '')?.name ?? '',
      })),
    })),
    nodeConfigs: delivered.status === 'fulfilled' ? delivered.value.items : [],
    openstackConfigs: configs.status === 'fulfilled' ? configs.value.items : [],
    unreachable,
    kubeconfigs,
    tokenFile,
    urls,
    faults: faults.active(),
    host,
  }
}
