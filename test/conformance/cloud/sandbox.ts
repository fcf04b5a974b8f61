/** The simulated cloud: administrator actions change the cloud state. */
import { randomBytes } from 'node:crypto'
import { startCloud } from '../../../sandbox/cloud/cloud.ts'
import {
  addPort,
  addServer,
  addSubnet,
  createCloudState,
  freeAddress,
  type Port,
  portsOf,
  removePort,
  removeServer,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import { silent } from '../../../src/telemetry/log.ts'
import type { CloudUnderTest } from './context.ts'

export async function sandboxCloud(): Promise<CloudUnderTest> {
  const cloudState = createCloudState()
  const cloud = await startCloud(cloudState, silent)
  const { password } = cloudState.user
  /** Ports not created by Nova: they stay when their server is deleted. */
  const userPorts = new Set<string>()
  let heldPorts: Set<string> | undefined

  const server = (id: string): Server => existing(cloudState.servers.get(id), `server ${id}`)
  const port = (id: string): Port => existing(cloudState.ports.get(id), `port ${id}`)
  const subnetsIn = (networkId: string) => [...cloudState.subnets.values()].filter(one => one.networkId === networkId)
  const activate = (id: string) => (heldPorts ? heldPorts.add(id) : setPortStatus(cloudState, id, 'ACTIVE'))

  /** Adds one address per family, like Neutron. */
  function makePort(networkId: string, device: Pick<Server, 'id'>, chosen?: Subnet, address?: string): Port {
    const inNetwork = subnetsIn(networkId)
    const four = existing(chosen ?? inNetwork.find(one => !one.cidr.includes(':')), 'an IPv4 subnet')
    const made = addPort(cloudState, { server: { ...noServer, ...device }, subnet: four, ...(address && { address }) })
    const six = chosen ? undefined : inNetwork.find(one => one.cidr.includes(':'))
    if (six) made.fixedIps.push({ subnetId: six.id, ipAddress: freeAddress(cloudState, six) })
    return made
  }

  function attach(vm: Server, what: { networkId: string } | { portId: string }): string {
    if ('networkId' in what) {
      const made = makePort(what.networkId, vm)
      activate(made.id)
      return made.id
    }
    Object.assign(port(what.portId), { deviceId: vm.id, deviceOwner: 'compute:nova' })
    activate(what.portId)
    return what.portId
  }

  function detach(id: string): void {
    if (userPorts.has(id)) {
      Object.assign(port(id), { deviceId: '', deviceOwner: '' })
      setPortStatus(cloudState, id, 'DOWN')
    } else removePort(cloudState, id)
  }

  return {
    urls: cloud.urls,
    login: { url: cloud.urls.keystone, user: cloudState.user.name, password, domain: cloudState.user.domain },
    projectId: cloudState.project.id,
    region: cloudState.region,

    async createNetwork({ name, mtu = 1450 }) {
      const { networkId } = addSubnet(cloudState, { name, cidr: '10.0.0.0/24', mtu })
      for (const one of subnetsIn(networkId)) cloudState.subnets.delete(one.id)
      existing(cloudState.networks.get(networkId), 'the network').name = name
      return networkId
    },
    async createSubnet({ name, networkId, cidr, gateway, routes = [] }) {
      const made = addSubnet(cloudState, { name, cidr, mtu: 0, ...(gateway !== undefined && { gatewayIp: gateway }) })
      cloudState.networks.delete(made.networkId)
      Object.assign(made, { networkId, hostRoutes: routes })
      return made.id
    },
    async createPort({ networkId, name = '', fixedIps, deviceId = '', deviceOwner = '' }) {
      const [first] = fixedIps ?? []
      const chosen = first && cloudState.subnets.get(first.subnetId)
      const made = makePort(networkId, { id: deviceId }, chosen, first?.address)
      Object.assign(made, { name, deviceOwner })
      userPorts.add(made.id)
      return made.id
    },
    deletePort: async id => removePort(cloudState, id),

    async bootServer({ name, nics = [], metadata = {}, tags = [] }) {
      const made = addServer(cloudState, name)
      Object.assign(made, { metadata, tags })
      for (const nic of nics) attach(made, nic)
      return made.id
    },
    async renameServer(id, name) {
      server(id).name = name
    },
    async setMetadata(id, metadata) {
      Object.assign(server(id).metadata, metadata)
    },
    async deleteServer(id) {
      for (const one of portsOf(cloudState, server(id))) detach(one.id)
      removeServer(cloudState, id)
    },
    attach: async (id, what) => attach(server(id), what),
    detach: async (_, id) => detach(id),
    async holdPorts() {
      heldPorts = new Set()
    },
    async releasePorts() {
      const waiting = heldPorts ?? []
      heldPorts = undefined
      for (const id of waiting) activate(id)
    },

    async setTokenLifetime(seconds) {
      cloudState.faults.tokenSeconds = seconds
    },
    async revokeRole() {
      cloudState.user.password = randomBytes(8).toString('hex')
      cloud.revokeTokens()
    },
    async grantRole() {
      cloudState.user.password = password
    },
    async disableRole() {
      cloudState.faults.roleLost = true
    },
    async enableRole() {
      cloudState.faults.roleLost = false
    },
    close: () => cloud.close(),
  }
}

const noServer: Server = { id: '', name: '', projectId: '', status: '', metadata: {}, tags: [], createdAt: new Date(0) }

function existing<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`${what} not found`)
  return found
}
