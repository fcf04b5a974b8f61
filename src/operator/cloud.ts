/**
 * The cloud as the operator sees it: the source of ports, subnets, networks and servers, and the message bus that reports
 * their changes. src/openstack implements it.
 *
 * Another source of ports implements `Cloud` in a folder of its own and is opened in main.ts. Folders that implement it
 * import only types from this file.
 */
import type { ServerSelector } from '../contract/server-selector.ts'
import type { Log } from '../telemetry/log.ts'

export interface Port {
  id: string
  networkId: string
  /** Lower case. */
  macAddress: string
  /** Must be in openstackPortAllowedStatuses. DOWN: delivered, and sent again until the port is up. */
  status: string
  /** Empty when no server uses the port. */
  serverId: string
  /** What uses the port, such as `compute:nova`; empty until the cloud has bound it. Must be in openstackPortOwners. */
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
  /** A UUID, which is also the SystemUUID of its Node. An entry of vmNames that is none is a name. */
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

/** Finds the hosts of message buses, and listens to them. */
export interface MessageBuses {
  /** An error never contains the text of an address, because it may contain a password. */
  parseAddresses(texts: readonly string[]): BusAddresses | { error: string }
  listen(access: BusAccess, options: BusListenerOptions): BusListener
}

export interface BusHost {
  hostname: string
  port: number
  tls: boolean
}

export interface BusAddresses {
  hosts: BusHost[]
  vhost: string
  /** The first host and the virtual host, for logs and metrics. */
  label: string
  /** The account of the first address that has one. */
  user?: string
  password?: string
}

export interface BusAccess extends Pick<BusAddresses, 'vhost' | 'label'> {
  hosts: readonly BusHost[]
  user: string
  password: string
  /** Trusted instead of the system's certificate authorities. */
  ca?: string | undefined
  /** A tenant names the hosts: it must not learn which of their ports are open. */
  isOfTenant?: boolean
  /** Name of a queue that survives a restart. Without a name the queue is deleted with the connection. */
  queue?: string | undefined
}

export interface BusState {
  /** waiting: none of the exchanges exists yet; refused: the broker refuses the account. */
  state: 'connecting' | 'connected' | 'waiting' | 'unreachable' | 'refused'
  message: string
}

export interface BusListenerOptions {
  onMessage: (reading: Reading) => void
  onState: (state: BusState) => void
  log: Log
}

export interface BusListener {
  close(): Promise<void>
}

/** What a message of a bus says. `other` is well-formed and not relevant. */
export type Reading = Notification | { kind: 'other' } | { kind: 'poison'; why: string }

/** A hint and never data: only the ids of what changed, and what is needed to recognize a change that does not matter. */
export interface Notification {
  kind: 'notification'
  event: string
  subjects: Subject[]
  /** Milliseconds since 1970. */
  sentAt?: number
  requestId?: string
}

export type Subject =
  | {
      about: 'port'
      id: string
      /** Empty if no server uses the port. */
      deviceId: string
      deleted: boolean
    }
  | {
      about: 'server'
      id: string
      name: string
      /** Equal for updates that change neither name, metadata nor tags. Absent if the server was created or deleted. */
      fingerprint?: string
      /** An interface was attached or detached. The server itself is unchanged. */
      interfaces: boolean
    }
  | { about: 'subnet'; id: string; name: string }
  | { about: 'network'; id: string }

/** One object as long as the account is the same: what was read with another one is not used. */
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
