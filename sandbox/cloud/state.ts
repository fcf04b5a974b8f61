/**
 * The cloud as plain data: projects, networks, subnets, servers, ports and a clock. Keystone, Neutron, Nova and Contrabass
 * are views of it; the nodes are wired after it.
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
  createdAt: Date
  updatedAt: Date
  revision: number
}

/** How a service of the cloud can answer instead of as it should. */
export type Manner = 'failing' | 'unauthorized' | 'throttled' | 'garbled' | 'truncated' | 'empty' | 'slow' | 'silent'
/** What can become of a notification on its way to the bus. */
export type NoticeFault = 'lost' | 'duplicated' | 'reordered'

/** What a test or a person can break: for each manner the services that answer so, and what else the cloud can do wrong. */
export interface Faults extends Record<Manner, Service[]> {
  /** The user's role no longer counts: Neutron answers 200 and nothing, Nova 403. */
  roleLost: boolean
  /** The most entries a page, as the people who run the cloud would set it; 0 leaves the services' own. */
  pageLimit: number
  /** How long a token lives. */
  tokenSeconds: number
  notices: NoticeFault[]
  /** How far the cloud's clock is ahead. */
  clockAheadSeconds: number
}

export type Service = 'keystone' | 'neutron' | 'nova' | 'contrabass'
export const services: readonly Service[] = ['keystone', 'neutron', 'nova', 'contrabass']

export interface World {
  region: string
  project: { id: string; name: string }
  user: { id: string; name: string; password: string; domain: string }
  provider: { id: string; encryptKey: string }
  /** The broker that Neutron and Nova send their notifications to, where there is one. */
  bus?: { urls: string[]; user: string; password: string }
  networks: Map<string, Network>
  subnets: Map<string, Subnet>
  servers: Map<string, Server>
  /** Servers that were deleted: Nova remembers what was done to them. */
  deletedServers: Map<string, Server>
  ports: Map<string, Port>
  faults: Faults
  startedAt: Date
  now(): Date
  /** Told after each change of ports, and of whatever else a test changes by hand. */
  onPorts(listener: () => void): void
  portsChanged(): void
}

export const noFaults: Faults = {
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
  notices: [],
  clockAheadSeconds: 0,
}

/** Always the same, so that documents can name them: config/samples does. */
export const sandboxProjectId = '9f1c2d3e4b5a69788796a5b4c3d2e1f0'
export const sandboxProviderId = '3f5b8f6e-6a6f-4a53-8a1c-0d5f3a1b7c21'
export const sandboxClusterId = 'b7d0a6c4-52c1-4f0e-9f1d-6a8e2b3c4d5e'

export function createWorld(now: () => Date = () => new Date()): World {
  const listeners: (() => void)[] = []
  const world: World = {
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
    now: () => new Date(now().getTime() + world.faults.clockAheadSeconds * 1000),
    onPorts: listener => listeners.push(listener),
    portsChanged: () => {
      for (const listener of listeners) listener()
    },
  }
  return world
}

export interface SubnetInput {
  name: string
  cidr: string
  mtu: number
  gatewayIp?: string | null
}

/** A subnet on a network of its own. */
export function addSubnet(world: World, { name, cidr, mtu, gatewayIp }: SubnetInput): Subnet {
  const network: Network = { id: randomUUID(), name: `${name}-net`, projectId: world.project.id, mtu }
  const subnet: Subnet = {
    id: randomUUID(),
    name,
    networkId: network.id,
    projectId: world.project.id,
    cidr,
    gatewayIp: gatewayIp === undefined ? firstRouter(rangeOf(cidr)) : gatewayIp,
    hostRoutes: [],
  }
  world.networks.set(network.id, network)
  world.subnets.set(subnet.id, subnet)
  return subnet
}

export function addServer(world: World, name: string): Server {
  const server: Server = {
    id: randomUUID(),
    name,
    projectId: world.project.id,
    status: 'ACTIVE',
    metadata: {},
    createdAt: world.now(),
  }
  world.servers.set(server.id, server)
  return server
}

/** With the ports that Nova made for it. */
export function removeServer(world: World, id: string): void {
  const server = world.servers.get(id)
  if (!server) return
  world.servers.delete(id)
  world.deletedServers.set(id, server)
  for (const port of portsOf(world, server)) removePort(world, port.id)
}

export interface PortInput {
  server: Server
  subnet: Subnet
  macAddress?: string
  address?: string
}

/** A port as Nova makes it for `server add network`: with its device, and DOWN until the NIC is wired. */
export function addPort(world: World, { server, subnet, macAddress, address }: PortInput): Port {
  const at = world.now()
  const port: Port = {
    id: randomUUID(),
    name: '',
    networkId: subnet.networkId,
    projectId: subnet.projectId,
    macAddress: macAddress ?? freeMac(world),
    status: 'DOWN',
    deviceId: server.id,
    deviceOwner: 'compute:nova',
    fixedIps: [{ subnetId: subnet.id, ipAddress: address ?? freeAddress(world, subnet) }],
    createdAt: at,
    updatedAt: at,
    revision: 1,
  }
  world.ports.set(port.id, port)
  world.portsChanged()
  return port
}

export function removePort(world: World, id: string): void {
  if (world.ports.delete(id)) world.portsChanged()
}

/** Told by the fabric once the NIC is in the guest. */
export function setPortStatus(world: World, id: string, status: Port['status']): void {
  const port = world.ports.get(id)
  if (!port || port.status === status) return
  port.status = status
  port.updatedAt = world.now()
  port.revision++
}

export function serverNamed(world: World, name: string): Server {
  const found = [...world.servers.values()].find(server => server.name === name || server.id === name)
  if (!found) throw new Error(`there is no VM ${name}; there are ${names(world.servers)}`)
  return found
}

export function subnetNamed(world: World, name: string): Subnet {
  const found = [...world.subnets.values()].find(subnet => subnet.name === name || subnet.id === name)
  if (!found) throw new Error(`there is no subnet ${name}; there are ${names(world.subnets)}`)
  return found
}

export function portsOf(world: World, server: Server): Port[] {
  return [...world.ports.values()].filter(port => port.deviceId === server.id)
}

function names(all: Map<string, { name: string }>): string {
  return [...all.values()].map(one => one.name).join(', ') || 'none'
}

function freeMac(world: World): string {
  const taken = new Set([...world.ports.values()].map(port => port.macAddress))
  for (;;) {
    const tail = [...randomBytes(3)].map(byte => byte.toString(16).padStart(2, '0'))
    const mac = ['fa', '16', '3e', ...tail].join(':')
    if (!taken.has(mac)) return mac
  }
}

export function freeAddress(world: World, subnet: Subnet): string {
  const range = rangeOf(subnet.cidr)
  const taken = new Set([...world.ports.values()].flatMap(port => port.fixedIps.map(ip => ip.ipAddress)))
  const size = 1n << BigInt((range.family === 4 ? 32 : 128) - range.prefix)
  for (let host = 10n; host < size - 1n; host++) {
    const address = hostAddress(range, host)
    if (!taken.has(address)) return address
  }
  throw new Error(`subnet ${subnet.name} has no free address`)
}

function rangeOf(cidr: string): Cidr {
  const parsed = parseCidr(cidr)
  if (!parsed) throw new Error(`"${cidr}" is not a network`)
  return parsed
}

/** Neutron takes the first address; of IPv6 that is the network's own, which any router there answers to. */
function firstRouter(range: Cidr): string {
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
