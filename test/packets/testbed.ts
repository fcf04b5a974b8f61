/**
 * What the rows of the packet suite need of a testbed: send a packet, and report what became of it. Nothing here knows how a testbed is
 * built, so that the same rows can run in namespaces, on OVN or in guests.
 */
import type { Family, Layout, Name } from './addresses.ts'
import type { Filter } from './filters.ts'
import type { Port } from './ports.ts'
import type { FlowState } from './station-protocol.ts'
import type { Vpn } from './vpns.ts'

export type Host = 'node' | 'pod' | 'client' | 'far' | 'peer'

export interface Probe {
  from: Host
  /** The address that the socket is bound to. */
  bind?: Name | undefined
  to: Name
  port: Port
  udp?: boolean | undefined
  family: Family
  /** Milliseconds. */
  within: number
}

export interface Outcome {
  /** TCP: 3,000 bytes came back. UDP: a datagram came back. */
  delivered: boolean
  /** The source that the server saw. */
  source?: string
  /** The devices of the node by which its packets to the other end left; more than one is an error of the node. */
  devices: string[]
  error?: string
}

export interface LongFlow {
  from: Host
  bind?: Name
  to: Name
  port: Port
  udp?: boolean
  family: Family
}

export interface OpenedFlow {
  /** Why nothing came back. */
  error?: string
  /** The state so far; `restart` begins to measure again. */
  state(options?: { restart?: boolean; close?: boolean }): Promise<FlowState>
}

export interface Testbed {
  layout: Layout
  setFilter(filter: Filter): void
  /** Ends the one before. */
  setVpn(vpn: Vpn): void
  /** All at once; in the order of the probes. */
  send(probes: readonly Probe[]): Promise<Outcome[]>
  /** The table that the node's rules select for a new packet. */
  lookup(family: Family, from: Name | undefined, to: Name, mark: number): string
  open(flow: LongFlow): Promise<OpenedFlow>
  /** Runs a command on the node. */
  onNode(command: string, ...args: string[]): string
  /** The same with an input. */
  feedNode(input: string, command: string, ...args: string[]): string
  remove(): Promise<void>
}
