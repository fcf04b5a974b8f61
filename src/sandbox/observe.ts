/**
 * Reads all that the status of the sandbox is made of: the ports of the VMs, and what both clusters say.
 */
import { nodeConfigs } from '../contract/node-config.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import { attachedPorts } from './attach.ts'
import type { SandboxNode } from './nodes.ts'
import type { Observed } from './status.ts'
import type { World } from './world.ts'

export interface Places extends Pick<Observed, 'kubeconfigs' | 'urls'> {
  world: World
  nodes: ReadonlyMap<string, SandboxNode>
  management: Pick<Kube, 'list'>
  biz: Pick<Kube, 'list'>
}

export async function observeSandbox({ world, nodes, management, biz, kubeconfigs, urls }: Places): Promise<Observed> {
  const [held, configs] = await Promise.all([biz.list(nodeConfigs), management.list(openstackConfigs)])
  return {
    nodes: [...nodes.values()].map(({ name, server }) => ({
      name,
      ports: attachedPorts(world, server).map(port => ({
        id: port.id,
        macAddress: port.macAddress,
        subnet: world.subnets.get(port.fixedIps[0]?.subnetId ?? '')?.name ?? '',
      })),
    })),
    nodeConfigs: held.items,
    openstackConfigs: configs.items,
    kubeconfigs,
    urls,
  }
}
