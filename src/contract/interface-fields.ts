/**
 * The fields of one interface, in code and on the wire. Free of dependencies: the agent and the dashboard use it as it is.
 */
export const maxInterfaces = 10
/** Of one interface. */
export const maxAddressPairs = 32

export interface Route {
  destination: string
  nexthop: string
}

/** An interface on the wire (CRs, HTTP bodies, the agent's input): only the MAC address is required, and the index is called `id`. */
export interface WireInterface {
  index?: undefined
  portId?: string | undefined
  id?: number | undefined
  name?: string | undefined
  macAddress: string
  address?: string | undefined
  cidr?: string | undefined
  mtu?: number | undefined
  addresses?: string[] | undefined
  gateway?: string | undefined
  routes?: Route[] | undefined
  allowedAddressPairs?: string[] | undefined
  networkId?: string | undefined
  subnetId?: string | undefined
  source?: string | undefined
  subnetName?: string | undefined
  networkName?: string | undefined
  alias?: string | undefined
}

/**
 * Names for people and labels. They describe an interface and never identify it: a change of one alone is no new request, is
 * not sent, and does not reach the agent.
 */
export interface InterfaceNames {
  subnetName?: string
  networkName?: string
  /** Of the network on every node of the cluster, fit for a label. */
  alias?: string
}

/** An interface in code: index and name are set, the MAC address is in lower case, every address has its prefix. */
export interface Interface extends InterfaceNames {
  index: number
  name: string
  macAddress: string
  portId?: string
  address?: string
  cidr?: string
  mtu?: number
  addresses?: string[]
  gateway?: string
  routes?: Route[]
  /** Networks beyond those of the NIC whose packets port security lets through: canonical, sorted, each once. */
  allowedAddressPairs?: string[]
  networkId?: string
  subnetId?: string
  source?: string
}

/** The name of a field on the wire. */
export type WireField = keyof WireInterface

/**
 * Every field that makes up a request, by its name in code, with its name on the wire. Completion, equality, hashes, the wire
 * form, the inventory's records and the dashboard's comparison derive from this list: a field that is missing in both lists
 * does not compile.
 */
export const interfaceFields = {
  index: 'id',
  name: 'name',
  macAddress: 'macAddress',
  portId: 'portId',
  address: 'address',
  cidr: 'cidr',
  mtu: 'mtu',
  addresses: 'addresses',
  gateway: 'gateway',
  routes: 'routes',
  allowedAddressPairs: 'allowedAddressPairs',
  networkId: 'networkId',
  subnetId: 'subnetId',
  source: 'source',
} as const satisfies { [field in Exclude<keyof Interface, keyof InterfaceNames>]: WireField }

/**
 * What a new value means for the node. Hashes leave out absent fields, so a new field runs the agent only on nodes that have it,
 * and only if the agent uses it. Until then it is one of the other fields below.
 * - agent: the agent gets the field, and runs again.
 * - request: the agent runs again for the new request, without the field.
 */
export const fieldUses = {
  index: 'agent',
  name: 'agent',
  macAddress: 'agent',
  portId: 'agent',
  address: 'agent',
  cidr: 'agent',
  mtu: 'agent',
  addresses: 'agent',
  gateway: 'agent',
  routes: 'agent',
  allowedAddressPairs: 'agent',
  networkId: 'request',
  subnetId: 'request',
  source: 'request',
} as const satisfies { [field in keyof typeof interfaceFields]: 'agent' | 'request' }

/** The other fields. They travel on the same way, and nothing is decided by them. */
export const nameFields = {
  subnetName: 'subnetName',
  networkName: 'networkName',
  alias: 'alias',
} as const satisfies { [field in keyof Required<InterfaceNames>]: WireField }
