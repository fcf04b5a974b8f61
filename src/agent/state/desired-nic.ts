/**
 * What a NIC has when it is configured, and which way its packets take.
 */
import type { AddressSpec, RouteSpec, RuleSpec } from './change.ts'
import type { MarkedNic } from './nftables.ts'

/** How the kernel is asked for the way of a packet. */
export interface LookupQuery {
  from?: string
  /** Packet mark, as `ip` writes it. */
  mark?: string
  to: string
}

export interface ExpectedLookup extends LookupQuery {
  /** A route of others in the main table wins if its prefix has this length or a longer one. */
  minPrefix?: number
  /** Packets leave by the NIC; `other`: by another device. */
  by: 'nic' | 'other'
}

export interface DesiredNic {
  index: number
  name: string
  macAddress: string
  portId?: string
  mtu?: number
  table: number
  addresses: AddressSpec[]
  /** Of the connected route of an address that has one. */
  prefixMetric: number
  routes: RouteSpec[]
  rules: RuleSpec[]
  sysctls: Record<string, string>
  acceptRa: boolean
  /** Networks that the main table does not reach by the NIC. */
  onlyBound: { network: string; because: string }[]
  /** Which packets get its mark. */
  marked: MarkedNic
  /** Which way packets must take. */
  lookups: ExpectedLookup[]
  altname?: string
  /** udev gives NICs of this host an altname with their MAC address, as it does by default since systemd 256. */
  macAltname?: true
}
