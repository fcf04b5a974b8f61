/**
 * Reads all that the status of the sandbox is made of: the ports of the VMs, and what both clusters say.
 */
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { Kube } from '../../src/kube/api.ts'
import { attachedPorts } from '../cloud/attach.ts'
import type { World } from '../cloud/state.ts'
import type { FaultSwitchboard } from '../faults/active-faults.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { Observed } from './status.ts'

export interface Places extends Pick<Observed, 'kubeconfigs' | 'tokenFile' | 'urls' | 'host'> {
  world: World
  nodes: ReadonlyMap<string, SandboxNode>
  management: Pick<Kube, 'list'>
  biz: Pick<Kube, 'list'>
  faults: Pick<FaultSwitchboard, 'active'>
}

export async function observeSandbox(places: Places): Promise<Observed> {
  const { world, nodes, management, biz, kubeconfigs, tokenFile, urls, faults, host } = places
  const [held, configs] = await Promise.allSettled([biz.list(nodeConfigs), management.list(openstackConfigs)])
  const away = [
    ...(held.status === 'rejected' ? ['the API server of the Biz cluster'] : []),
    ...(configs.status === 'rejected' ? ['the API server of the management cluster'] : []),
  ]
  return {
    nodes: [...nodes.values()].map(({ name, server }) => ({
      name,
      ports: attachedPorts(world, server).map(port => ({
        id: port.id,
        macAddress: port.macAddress,
        subnet: world.subnets.get(port.fixedIps[0]?.subnetId ?? '')?.name ?? '',
      })),
    })),
    nodeConfigs: held.status === 'fulfilled' ? held.value.items : [],
    openstackConfigs: configs.status === 'fulfilled' ? configs.value.items : [],
    away,
    kubeconfigs,
    tokenFile,
    urls,
    faults: faults.active(),
    host,
  }
}
