/**
 * The state of the simulated cloud: project, networks, subnets, servers, ports and a clock. Keystone, Neutron, Nova and
 * Contrabass serve it; the nodes get their NICs from it.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { type Cidr, formatIp, parseCidr } from '../../src/contract/address.ts'

export interface Network {
  id: string
  name: string
  projectId: string
  mtu: number
}

export interface Subnet {
  id: string
  name: string
  networkId: string
  projectId: string
  cidr: string
  gatewayIp: string | null
  hostRoutes: { destination: string; nexthop: string }[]
}

export interface Server {
  id: string
  name: string
  projectId: string
  status: string
  metadata: Record<string, string>
  tags: string[]
  createdAt: Date
}

export interface Port {
  id: string
  name: string
  networkId: string
  projectId: string
  macAddress: string
  status: 'ACTIVE' | 'DOWN' | 'BUILD'
  deviceId: string
  deviceOwner: string
  fixedIps: { subnetId: string; ipAddress: string }[]
  allowedAddressPairs?: string[]
  createdAt: Date
  updatedAt: Date
  revision: number
}

/** How a service misbehaves. */
export type ResponseFault =
  | 'failing'
  | 'unauthorized'
  | 'throttled'
  | 'garbled'
  | 'truncated'
  | 'empty'
  | 'slow'
  | 'silent'
/** What happens to a notification on its way to the bus. */
export type NotificationFault = 'lost' | 'duplicated' | 'reordered'

/** Active faults: the services that have each response fault, and other misbehaviour of the cloud. */
export interface CloudFaults extends Record<ResponseFault, Service[]> {
  /** The user has no role: Neutron answers 200 with an empty list, Nova 403. */
  roleLost: boolean
  /** Maximum page size, as configured by a cloud administrator; 0 for the default of each service. */
  pageLimit: number
  /** Lifetime of a token. */
  tokenSeconds: number
  notifications: NotificationFault[]
  /** How far the clock of the cloud is ahead. */
  clockAheadSeconds: number
}

export type Service = 'keystone' | 'neutron' | 'nova' | 'contrabass'
export const services: readonly Service[] = ['keystone', 'neutron', 'nova', 'contrabass']

export interface CloudState {
  region: string
  project: { id: string; name: string }
  user: { id: string; name: string; password: string; domain: string }
  provider: { id: string; encryptKey: string }
  /** Broker for the notifications of Neutron and Nova, if any. */
  bus?: { urls: string[]; user: string; password: string }
  networks: Map<string, Network>
  subnets: Map<string, Subnet>
  servers: Map<string, Server>
  /** Nova still shows the actions of deleted servers. */
  deletedServers: Map<string, Server>
  ports: Map<string, Port>
  faults: CloudFaults
  startedAt: Date
  now(): Date
  onPortsChange(listener: () => void): void
  /** Call after changing networks, subnets, servers or ports directly. */
  emitPortsChange(): void
}

export const noFaults: CloudFaults = {
  failing: [],
  unauthorized: [],
  throttled: [],
  garbled: [],
  truncated: [],
  empty: [],
  slow: [],
  silent: [],
  roleLost: false,
  pageLimit: 0,
  tokenSeconds: 3600,
  notifications: [],
  clockAheadSeconds: 0,
}

/** Constant, because config/samples refers to them. */
export const sandboxProjectId = '9f1c2d3e4b5a69788796a5b4c3d2e1f0'
export const sandboxProviderId = '3f5b8f6e-6a6f-4a53-8a1c-0d5f3a1b7c21'
export const sandboxClusterId = 'b7d0a6c4-52c1-4f0e-9f1d-6a8e2b3c4d5e'

export function createCloudState(now: () => Date = () => new Date()): CloudState {
  const listeners: (() => void)[] = []
  const cloudState: CloudState = {
    region: 'RegionOne',
    project: { id: sandboxProjectId, name: 'sandbox' },
    user: { id: hex(32), name: 'admin', password: hex(24), domain: 'Default' },
    provider: { id: sandboxProviderId, encryptKey: hex(16) },
    networks: new Map(),
    subnets: new Map(),
    servers: new Map(),
    deletedServers: new Map(),
    ports: new Map(),
    faults: { ...noFaults },
    startedAt: now(),
    now: () => new Date(now().getTime() + cloudState.faults.clockAheadSeconds * 1000),
    onPortsChange: listener => listeners.push(listener),
    emitPortsChange: () => {
      for (const listener of listeners) listener()
    },
  }
  return cloudState
}

export interface SubnetInput {
  name: string
  cidr: string
  mtu: number
  gatewayIp?: string | null
}

/** Adds a subnet and a network for it. */
export function addSubnet(cloudState: CloudState, { name, cidr, mtu, gatewayIp }: SubnetInput): Subnet {
  const network: Network = { id: randomUUID(), name: `${name}-net`, projectId: cloudState.project.id, mtu }
  const subnet: Subnet = {
    id: randomUUID(),
    name,
    networkId: network.id,
    projectId: cloudState.project.id,
    cidr,
    gatewayIp: gatewayIp === undefined ? defaultGateway(rangeOf(cidr)) : gatewayIp,
    hostRoutes: [],
  }
  cloudState.networks.set(network.id, network)
  cloudState.subnets.set(subnet.id, subnet)
  return subnet
}

export function addServer(cloudState: CloudState, name: string): Server {
  const server: Server = {
    id: randomUUID(),
    name,
    projectId: cloudState.project.id,
    status: 'ACTIVE',
    metadata: {},
    tags: [],
    createdAt: cloudState.now(),
  }
  cloudState.servers.set(server.id, server)
  return server
}

/** Also removes the ports of the server. */
export function removeServer(cloudState: CloudState, id: string): void {
  const server = cloudState.servers.get(id)
  if (!server) return
  cloudState.servers.delete(id)
  cloudState.deletedServers.set(id, server)
  for (const port of portsOf(cloudState, server)) removePort(cloudState, port.id)
}

export interface PortInput {
  server: Server
  subnet: Subnet
  macAddress?: string
  address?: string
}

/** Adds a port like Nova does for `server add network`: bound to its device, and DOWN until the NIC is plugged. */
export function addPort(cloudState: CloudState, { server, subnet, macAddress, address }: PortInput): Port {
  const at = cloudState.now()
  const port: Port = {
    id: randomUUID(),
    name: '',
    networkId: subnet.networkId,
    projectId: subnet.projectId,
    macAddress: macAddress ?? freeMacAddress(cloudState),
    status: 'DOWN',
    deviceId: server.id,
    deviceOwner: 'compute:nova',
    fixedIps: [{ subnetId: subnet.id, ipAddress: address ?? freeAddress(cloudState, subnet) }],
    createdAt: at,
    updatedAt: at,
    revision: 1,
  }
  cloudState.ports.set(port.id, port)
  cloudState.emitPortsChange()
  return port
}

export function removePort(cloudState: CloudState, id: string): void {
  if (cloudState.ports.delete(id)) cloudState.emitPortsChange()
}

/** Called when the NIC is plugged. */
export function setPortStatus(cloudState: CloudState, id: string, status: Port['status']): void {
  const port = cloudState.ports.get(id)
  if (!port || port.status === status) return
  port.status = status
  port.updatedAt = cloudState.now()
  port.revision++
}

export function findServer(cloudState: CloudState, name: string): Server {
  const found = [...cloudState.servers.values()].find(server => server.name === name || server.id === name)
  if (!found) throw new Error(`VM ${name} not found; the VMs are ${names(cloudState.servers)}`)
  return found
}

export function findSubnet(cloudState: CloudState, name: string): Subnet {
  const found = [...cloudState.subnets.values()].find(subnet => subnet.name === name || subnet.id === name)
  if (!found) throw new Error(`subnet ${name} not found; the subnets are ${names(cloudState.subnets)}`)
  return found
}

export function portsOf(cloudState: CloudState, server: Server): Port[] {
  return [...cloudState.ports.values()].filter(port => port.deviceId === server.id)
}

function names(all: Map<string, { name: string }>): string {
  return [...all.values()].map(one => one.name).join(', ') || 'none'
}

function freeMacAddress(cloudState: CloudState): string {
  const used = new Set([...cloudState.ports.values()].map(port => port.macAddress))
  for (;;) {
    const tail = [...randomBytes(3)].map(byte => byte.toString(16).padStart(2, '0'))
    const macAddress = ['fa', '16', '3e', ...tail].join(':')
    if (!used.has(macAddress)) return macAddress
  }
}

/** An address that neither a port nor `reserved` has. */
export function freeAddress(cloudState: CloudState, subnet: Subnet, reserved: readonly string[] = []): string {
  const range = rangeOf(subnet.cidr)
  const taken = [...cloudState.ports.values()].flatMap(port => port.fixedIps.map(ip => ip.ipAddress))
  const used = new Set([...taken, ...reserved])
  const size = 1n << BigInt((range.family === 4 ? 32 : 128) - range.prefix)
  for (let host = 10n; host < size - 1n; host++) {
    const address = hostAddress(range, host)
    if (!used.has(address)) return address
  }
  throw new Error(`subnet ${subnet.name} has no free address`)
}

function rangeOf(cidr: string): Cidr {
  const parsed = parseCidr(cidr)
  if (!parsed) throw new Error(`"${cidr}" is not a CIDR`)
  return parsed
}

/** As in Neutron: the first address. For IPv6 that is the subnet-router anycast address. */
function defaultGateway(range: Cidr): string {
  return hostAddress(range, range.family === 4 ? 1n : 0n)
}

function hostAddress(range: Cidr, host: bigint): string {
  return formatIp({ family: range.family, value: range.address.value + host })
}

function hex(digits: number): string {
  return randomBytes(Math.ceil(digits / 2))
    .toString('hex')
    .slice(0, digits)
}
