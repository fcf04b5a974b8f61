/**
 * What a sync knows before it decides: the shapes that observe fills and plan reads. Types only.
 */
import type { Interface } from '../contract/interfaces.ts'
import type { NodeConfigStatus } from '../contract/node-config.ts'
import type { Port, Subnet } from '../openstack/neutron.ts'

export type { Port, Subnet } from '../openstack/neutron.ts'

/** One entry of vmNames, and what Nova says of it. `unknown` means that Nova could not be asked. */
export interface VmFact {
  entry: string
  state: 'known' | 'unknown' | 'gone' | 'notUnique'
  /** The server's id; absent when a name did not lead to exactly one. */
  id?: string
  /** What its node would be called. */
  name?: string
}

/** A node config as the Biz cluster holds it: what was delivered. */
export interface HeldNode {
  nodeName: string
  instanceId?: string
  specHash: string
  generation: number
  interfaces: Interface[]
  status?: NodeConfigStatus
}

/** What the rest of the cloud says of a delivered port that the listing no longer shows. */
export type Answer = 'detached' | 'attached'

/** Another OpenstackConfig for the same cluster. */
export interface Claim {
  source: string
  vmIds: readonly string[]
  subnetIds: readonly string[]
}

export interface Rules {
  /** Upper case; `*` takes all. */
  allowedStatuses: readonly string[]
  /** A `*` at the end matches any rest. */
  owners: readonly string[]
  /** Milliseconds; ports created before are left alone. Absent: all are taken. */
  baseline?: number
}

export interface Observed {
  /** namespace/name of the OpenstackConfig. */
  source: string
  rules: Rules
  /** The chosen subnets, in the user's order. */
  subnets: readonly Subnet[]
  /** The user named the subnets by id, so a subnet that is no longer chosen is the user's own edit. */
  subnetsById: boolean
  mtus: ReadonlyMap<string, number>
  vms: readonly VmFact[]
  ports: readonly Port[]
  held: readonly HeldNode[]
  /** By `identityOf` of an interface. */
  answers: ReadonlyMap<string, Answer>
  /** The other OpenstackConfigs of this cluster that exist. */
  claims: readonly Claim[]
  /** A person let held removals go. */
  release: boolean
  /** Removals are being held already. */
  holding: boolean
}

/** Who an interface is for life: its port, or its MAC where no port id is known. */
export function identityOf({ portId, macAddress }: { portId?: string | undefined; macAddress: string }): string {
  return portId ?? macAddress.toLowerCase()
}
