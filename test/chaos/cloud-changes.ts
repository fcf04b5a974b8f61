/**
 * What users and administrators of the cloud change during chaos.
 */
import assert from 'node:assert/strict'
import type { CloudAdministrator } from '../../sandbox/cloud/cloud.ts'
import { type CloudState, findSubnet, freeAddress, type Port, type Subnet } from '../../sandbox/cloud/state.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'

type HostRoutes = Subnet['hostRoutes']

export interface CloudChanges {
  attach(vm: string, subnet: string): Promise<Port>
  detach(vm: string, portId: string): Promise<void>
  setMtu(subnet: string, mtu: number): Promise<void>
  /** Gives the port this number of other addresses in its subnet. */
  setAddresses(portId: string, count: number): Promise<void>
  /** Null: the subnet has none. */
  setGateway(subnet: string, address: string | null): Promise<void>
  setRoutes(subnet: string, routes: HostRoutes): Promise<void>
  rename(vm: string, name: string): Promise<void>
}

/** Renaming does not change the name by which a history knows the VM: that of its node. */
export function serverOf({ nodes }: Pick<Sandbox, 'nodes'>, vm: string): string {
  return (nodes.get(vm) ?? assert.fail(`node ${vm} not found`)).server.id
}

export function simulatedCloudChanges(sandbox: Sandbox): CloudChanges {
  const { cloudState } = sandbox
  const changed = (change: () => void) => {
    change()
    cloudState.emitPortsChange()
  }
  return {
    async attach(vm, subnet) {
      const [port] = sandbox.attach({ vm: serverOf(sandbox, vm), subnet })
      return port ?? assert.fail(`${vm}: no port`)
    },
    async detach(vm, port) {
      await sandbox.detach({ vm: serverOf(sandbox, vm), port })
    },
    setMtu: async (subnet, mtu) => changed(() => setMtu(cloudState, subnet, mtu)),
    setAddresses: async (portId, count) =>
      changed(() => {
        const port = cloudState.ports.get(portId)
        if (!port) return
        port.fixedIps = newAddresses(cloudState, port, count)
        port.revision++
      }),
    setGateway: async (subnet, address) =>
      changed(() => {
        findSubnet(cloudState, subnet).gatewayIp = address
      }),
    setRoutes: async (subnet, routes) =>
      changed(() => {
        findSubnet(cloudState, subnet).hostRoutes = routes
      }),
    rename: async (vm, name) =>
      changed(() => {
        const server = cloudState.servers.get(serverOf(sandbox, vm))
        if (server) server.name = name
      }),
  }
}

/** The same in a real cloud. The cloud state has its ports anyway; networks, subnets and servers are updated here. */
export function realCloudChanges(sandbox: Sandbox, administrator: CloudAdministrator): CloudChanges {
  const { cloudState } = sandbox
  const update = (kind: 'network' | 'subnet' | 'port', id: string, body: object) =>
    administrator('neutron', 'PUT', `/v2.0/${kind}s/${id}`, { [kind]: body })
  return {
    async attach(vm, subnet) {
      const [port] = await sandbox.requestAttach({ vm: serverOf(sandbox, vm), subnet })
      return port ?? assert.fail(`${vm}: no port`)
    },
    async detach(vm, port) {
      await sandbox.detach({ vm: serverOf(sandbox, vm), port })
    },
    async setMtu(subnet, mtu) {
      await update('network', findSubnet(cloudState, subnet).networkId, { mtu })
      setMtu(cloudState, subnet, mtu)
    },
    async setAddresses(portId, count) {
      const port = cloudState.ports.get(portId)
      if (!port) return
      const addresses = newAddresses(cloudState, port, count)
      const fixed_ips = addresses.map(({ subnetId, ipAddress }) => ({ subnet_id: subnetId, ip_address: ipAddress }))
      await update('port', portId, { fixed_ips })
    },
    async setGateway(subnet, address) {
      const found = findSubnet(cloudState, subnet)
      await update('subnet', found.id, { gateway_ip: address })
      found.gatewayIp = address
    },
    async setRoutes(subnet, routes) {
      const found = findSubnet(cloudState, subnet)
      await update('subnet', found.id, { host_routes: routes })
      found.hostRoutes = routes
    },
    async rename(vm, name) {
      const id = serverOf(sandbox, vm)
      await administrator('nova', 'PUT', `/v2.1/servers/${id}`, { server: { name } })
      const server = cloudState.servers.get(id)
      if (server) server.name = name
    },
  }
}

function setMtu(cloudState: CloudState, subnet: string, mtu: number): void {
  const network = cloudState.networks.get(findSubnet(cloudState, subnet).networkId)
  if (network) network.mtu = mtu
}

/** None of them is an address that the port has now. */
function newAddresses(cloudState: CloudState, { fixedIps: [first] }: Port, count: number): Port['fixedIps'] {
  const subnet = findSubnet(cloudState, first?.subnetId ?? '')
  const chosen: Port['fixedIps'] = []
  while (chosen.length < count) {
    const used = chosen.map(({ ipAddress }) => ipAddress)
    chosen.push({ subnetId: subnet.id, ipAddress: freeAddress(cloudState, subnet, used) })
  }
  return chosen
}
