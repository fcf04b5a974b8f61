/**
 * Attaching and detaching ports, as people ask for it.
 */
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { Kube } from '../../src/kube/api.ts'
import type { CloudHands } from './cloud.ts'
import { addPort, type Port, portsOf, removePort, type Server, serverNamed, subnetNamed, type World } from './state.ts'

export interface AttachInput {
  vm: string
  subnet: string
  count?: number
  macAddress?: string
}

/** Which of a VM's ports: one by its id, one by the name of its interface, or all. */
export type DetachInput = { vm: string } & ({ port: string } | { name: string } | { all: true })

/** The subnet where the nodes themselves live: its ports are their primary NICs. */
export const homeSubnet = 'nodes'

export function attachPorts(world: World, { vm, subnet: name, count = 1, macAddress }: AttachInput): Port[] {
  const [server, subnet] = [serverNamed(world, vm), subnetNamed(world, name)]
  return Array.from({ length: count }, () => addPort(world, { server, subnet, ...(macAddress && { macAddress }) }))
}

/** The same in a cloud that has hands of its own. */
export async function attachBy(hands: CloudHands, world: World, input: AttachInput): Promise<Port[]> {
  if (input.macAddress !== undefined) throw new Error('a real cloud chooses the MAC addresses itself')
  const [server, subnet] = [serverNamed(world, input.vm), subnetNamed(world, input.subnet)]
  const ports: Port[] = []
  for (let count = input.count ?? 1; count > 0; count--) ports.push(await hands.attach(server, subnet))
  return ports
}

export async function detachPorts(
  world: World,
  biz: Pick<Kube, 'list'>,
  input: DetachInput,
  hands?: CloudHands,
): Promise<Port[]> {
  const server = serverNamed(world, input.vm)
  const attached = attachedPorts(world, server)
  const chosen = 'all' in input ? attached : [await portFor(attached, server.name, biz, input)]
  for (const port of chosen) {
    if (hands) await hands.detach(port)
    else removePort(world, port.id)
  }
  return chosen
}

/** All ports of a VM but its primary one. */
export function attachedPorts(world: World, server: Server): Port[] {
  const home = subnetNamed(world, homeSubnet).id
  return portsOf(world, server).filter(port => port.fixedIps[0]?.subnetId !== home)
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

/** Which port an interface of a node is: its config in the cluster knows. */
async function portIdOf(biz: Pick<Kube, 'list'>, node: string, name: string): Promise<string | undefined> {
  const { items } = await biz.list(nodeConfigs)
  const config = items.find(each => each.spec.nodeName === node)
  return config?.spec.interfaces.find(nic => nic.name === name)?.portId
}
