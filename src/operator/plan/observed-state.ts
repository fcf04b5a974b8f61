/**
 * The observed state that a sync decides on: observe.ts fills it, plan.ts reads it. Types only, apart from `identityOf`.
 */
import type { Interface } from '../../contract/interfaces.ts'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import type { ReservedIndex } from '../../contract/openstack-config.ts'
import type { MoveInProgress } from '../../contract/renumber-status.ts'
import type { ViolaClusterNode } from '../../contract/viola.ts'
import type { Network, Port, Subnet } from '../cloud.ts'

/** A VM of vmNames or vmSelector, and its server in the cloud. `unknown` means that the compute service did not answer. */
export interface Vm {
  entry: string
  state: 'found' | 'unknown' | 'notFound' | 'notUnique'
  /** The server's id; absent when a name did not match exactly one server. */
  id?: string
  /** The name that its node would get. */
  name?: string
  /** The name of the server, for people. */
  serverName?: string
  /** It was selected by vmSelector and delivered, and does not match any more, or is no longer a Node of the cluster. */
  hasLeft?: 'selector' | 'cluster'
}

/** A node config as it is in the Biz cluster: what the operator delivered earlier. */
export interface DeliveredNode {
  nodeName: string
  instanceId?: string
  instanceName?: string
  /** The name that Viola has for the provider. */
  providerName?: string
  specHash: string
  generation: number
  interfaces: Interface[]
  status?: NodeConfigStatus
  /** Field manager that edited the config by hand since it was delivered. */
  editedBy?: string
  /** From the inventory: the operator lost its own record of the delivery. */
  isUnconfirmed?: true
}

/**
 * Result of the second check of a delivered port that is missing from the port list, or that is listed without an address in
 * a selected subnet (`withoutSubnet`: a second answer says so too). `deleted`: Nova has a record of the deletion of its VM.
 */
export type PortCheck = 'detached' | 'attached' | 'deleted' | 'withoutSubnet'

/** Another OpenstackConfig for the same cluster. */
export interface Claim {
  source: string
  vmIds: readonly string[]
  subnetIds: readonly string[]
  /** Numbers that its subnets have. */
  indexes: readonly number[]
  reservedIndexes?: readonly ReservedIndex[] | undefined
}

export interface SelectedSubnet extends Subnet {
  /** Index of the interface that a port of it becomes. Absent: any free index. */
  index?: number
  /** Label-safe name of its network in the cluster. Only with an index. */
  alias?: string
}

export interface SelectionRules {
  /** Upper case; `*` allows all. */
  allowedStatuses: readonly string[]
  /** A `*` at the end matches any suffix. */
  owners: readonly string[]
  /** Milliseconds, by the clock of the cloud. Ports created earlier are ignored. Absent: no port is too old. */
  baseline?: number
}

export interface Observed {
  /** namespace/name of the OpenstackConfig. */
  source: string
  /**
   * The object has delivered nothing yet. What the cluster has of it is from an object of the same name that was lost, and
   * nobody knows what that one selected.
   */
  isNew: boolean
  rules: SelectionRules
  /** The selected subnets, in the user's order. */
  subnets: readonly SelectedSubnet[]
  /** The subnet of each name by which the user selects one. */
  subnetNames: Readonly<Record<string, string>>
  networks: ReadonlyMap<string, Network>
  vms: readonly Vm[]
  /** Nodes of the cluster that are no selected VM. Only with clusterNodes. */
  nodesWithoutVm: readonly ViolaClusterNode[]
  /** Version of the Nodes that `vms` was selected by. */
  nodesVersion?: string
  ports: readonly Port[]
  /** Of the cluster: the nodes that concern this object. */
  delivered: readonly DeliveredNode[]
  /** By `identityOf` of the interface. */
  portChecks: ReadonlyMap<string, PortCheck>
  /** The other OpenstackConfigs of this cluster. */
  claims: readonly Claim[]
  /** The server that each name in vmNames meant when its interfaces were delivered. */
  resolvedNames: Readonly<Record<string, string>>
  /** The subnet that each name meant when its interfaces were delivered. */
  resolvedSubnets: Readonly<Record<string, string>>
  /** VMs that a name in vmNames no longer means: whether Nova has a record of their deletion. */
  deletedVms: ReadonlyMap<string, boolean>
  /** The user approved the removals that are on hold. */
  removalsApproved: boolean
  /** The removals on hold that the status already lists. */
  removalsOnHold: readonly string[]
  /** Of all objects of the cluster. None of them has expired. */
  reservedIndexes: readonly ReservedIndex[]
  /** The interface that gets another index now. */
  renumber?: MoveInProgress
}

/** The selected subnets by their id, with their position in the user's order. */
export type SubnetPlaces = ReadonlyMap<string, { order: number; subnet: SelectedSubnet }>

/** With what the planner looks up for each of thousands of ports. */
export interface PlanInput extends Observed {
  places: SubnetPlaces
}

/** Identifies an interface for its lifetime: by its port, or by its MAC address if the port id is unknown. */
export function identityOf({ portId, macAddress }: { portId?: string | undefined; macAddress: string }): string {
  return portId ?? macAddress.toLowerCase()
}
