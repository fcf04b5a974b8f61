/**
 * Attaches and detaches ports by the names of VM, subnet and interface.
 */
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { Kube } from '../../src/kube/api.ts'
import type { PortAttacher } from './cloud.ts'
import {
  addPort,
  type CloudState,
  findServer,
  findSubnet,
  type Port,
  portsOf,
  removePort,
  type Server,
} from './state.ts'

export interface AttachInput {
  vm: string
  subnet: string
  count?: number
  macAddress?: string
}

/** One port of a VM by its id or by the name of its interface, or all. */
export type DetachInput = { vm: string } & ({ port: string } | { name: string } | { all: true })

/** Subnet of the primary NICs. */
export const primarySubnet = 'nodes'

export function attachPorts(cloudState: CloudState, { vm, subnet: name, count = 1, macAddress }: AttachInput): Port[] {
  const [server, subnet] = [findServer(cloudState, vm), findSubnet(cloudState, name)]
  return Array.from({ length: count }, () => addPort(cloudState, { server, subnet, ...(macAddress && { macAddress }) }))
}

/** The same in a real cloud. */
export async function attachThroughNova(
  attacher: PortAttacher,
  cloudState: CloudState,
  input: AttachInput,
): Promise<Port[]> {
  if (input.macAddress !== undefined)
    throw new Error('macAddress: not available with --openstack real, where Neutron chooses it')
  const [server, subnet] = [findServer(cloudState, input.vm), findSubnet(cloudState, input.subnet)]
  const ports: Port[] = []
  for (let count = input.count ?? 1; count > 0; count--) ports.push(await attacher.attach(server, subnet))
  return ports
}

export async function detachPorts(
  cloudState: CloudState,
  biz: Pick<Kube, 'list'>,
  input: DetachInput,
  attacher?: PortAttacher,
): Promise<Port[]> {
  const server = findServer(cloudState, input.vm)
  const attached = attachedPorts(cloudState, server)
  const chosen = 'all' in input ? attached : [await portFor(attached, server.name, biz, input)]
  for (const port of chosen) {
    if (attacher) await attacher.detach(port)
    else removePort(cloudState, port.id)
  }
  return chosen
}

/** All ports of a VM except the primary one. */
export function attachedPorts(cloudState: CloudState, server: Server): Port[] {
  const primary = findSubnet(cloudState, primarySubnet).id
  return portsOf(cloudState, server).filter(port => port.fixedIps[0]?.subnetId !== primary)
}

async function portFor(
  ports: Port[],
  node: string,
  biz: Pick<Kube, 'list'>,
  input: { port: string } | { name: string },
): Promise<Port> {
  const id = 'port' in input ? input.port : await portIdOf(biz, node, input.name)
  const found = ports.find(port => port.id === id)
  if (!found) throw new Error(`${node} has no attached port ${'port' in input ? input.port : input.name}`)
  return found
}

/** Looks the interface up in the MultiNicNodeConfig of the node. */
async function portIdOf(biz: Pick<Kube, 'list'>, node: string, name: string): Promise<string | undefined> {
  const { items } = await biz.list(nodeConfigs)
  const config = items.find(each => each.spec.nodeName === node)
  return config?.spec.interfaces.find(nic => nic.name === name)?.portId
}
