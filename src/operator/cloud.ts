/**
 * The cloud as the operator sees it: the source of ports, subnets, networks and servers. src/openstack implements it.
 *
 * Another source of ports implements `Cloud` in a folder of its own and is opened in main.ts. Folders that implement it
 * import only types from this file.
 */
import type { ServerSelector } from '../contract/server-selector.ts'

export interface Port {
  id: string
  networkId: string
  /** Lower case. */
  macAddress: string
  status: string
  /** Empty when no server uses the port. */
  serverId: string
  /** What uses the port, such as `compute:nova`; empty until the cloud has bound it. */
  owner: string
  addresses: { subnetId: string; address: string }[]
  createdAt?: string
  /** Grows with each change. Absent if the cloud does not count them. */
  revision?: number
  /** Absent if the cloud does not report it. */
  portSecurity?: PortSecurity
}

/** Drops packets with other addresses than those of the port and of the pairs. */
export interface PortSecurity {
  enabled: boolean
  allowedAddressPairs: AddressPair[]
}

export interface AddressPair {
  /** An address or a CIDR. */
  ipAddress: string
  /** Lower case. */
  macAddress: string
}

export interface Subnet {
  id: string
  name: string
  networkId: string
  cidr: string
  gateway?: string
  routes: { destination: string; nexthop: string }[]
  /** The answer says nothing about these, not even that there is none. */
  unknown?: readonly ('gateway' | 'routes')[]
}

export interface Network {
  id: string
  name: string
  mtu?: number
}

export interface Server {
  id: string
  /** Empty if the answer has none. */
  name: string
  /** Absent if the answer has none. */
  metadata?: Readonly<Record<string, string>>
  /** Absent if they were not asked for, or the answer has none. */
  tags?: readonly string[]
}

/** An interface of a server, as the compute service lists it. */
export interface Attachment {
  portId: string
  macAddress: string
  /** Of its addresses. */
  subnetIds: readonly string[]
}

/** Address and account of the cloud's message bus. */
export interface MessageBus {
  urls: string[]
  user: string
  /** Undefined when it cannot be decrypted. Events are off then; nothing else changes. */
  password: string | undefined
}

export interface Cloud {
  /** Logs in if needed. Sends no request while a valid token is known. */
  check(signal?: AbortSignal): Promise<void>
  portsOfServers(serverIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsById(ids: readonly string[], signal?: AbortSignal): Promise<Port[]>
  portsByMac(macAddresses: readonly string[], signal?: AbortSignal): Promise<Port[]>
  subnets(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Subnet>>
  subnetsByName(name: string, signal?: AbortSignal): Promise<Subnet[]>
  networks(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Network>>
  /** How far the clock that stamps ports is behind ours. 0 while it is right, ahead or unknown. */
  clockBehindMs(): number
  servers(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Server>>
  serversWithTags(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Server>>
  /** Whether at least one of these servers is visible. Never answered from a cache. */
  seesServers(ids: readonly string[], signal?: AbortSignal): Promise<boolean>
  serversByName(name: string, signal?: AbortSignal): Promise<Server[]>
  /** Of the project of the account. */
  serversMatching(selector: ServerSelector, signal?: AbortSignal): Promise<Server[]>
  /** Undefined when there is no such server. */
  attachmentsOf(serverId: string, signal?: AbortSignal): Promise<Attachment[] | undefined>
  /** Whether the cloud has a record of this server's deletion. */
  wasDeleted(serverId: string, signal?: AbortSignal): Promise<boolean>
  /** The cloud's message bus, if it has one. `fresh` skips the cache: the known account was refused. */
  bus(signal?: AbortSignal, fresh?: boolean): Promise<MessageBus | undefined>
  /** Drops all cached data. */
  refresh(): void
  /** Drops cached data that a notification reported as changed. */
  invalidate(changed: { servers: boolean; networks: boolean }): void
}

/** The part of a cloud that failed: `directory` knows where the clouds and their accounts are, `catalog` the endpoints. */
export type CloudPart = 'directory' | 'identity' | 'catalog' | 'network' | 'compute'

/** Every failed call of a `Cloud` throws one. */
export interface CloudError extends Error {
  readonly name: 'CloudError'
  readonly part: CloudPart
  /** How long the service asked us to wait. */
  readonly retryAfterMs: number | undefined
}

export function isCloudError(error: unknown): error is CloudError {
  return error instanceof Error && error.name === 'CloudError'
}
