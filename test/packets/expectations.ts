/**
 * What a row of the packet suite consists of, and what it expects in which cloud and beside which VPN.
 *
 * Pure.
 */
import { deviceOf, type Family, type Layout, type Name, nicOf } from './addresses.ts'
import type { Filter } from './filters.ts'
import type { Port } from './ports.ts'
import type { Host, Outcome } from './testbed.ts'
import type { Vpn } from './vpns.ts'

/** The device that has or serves a name; `tunnel`: the VPN's; `none`: no wire saw a packet. */
export type Device = Name | 'tunnel' | 'none'

/** Where a row ends otherwise, and why. The first one that matches counts. */
export interface Exception {
  vpns?: readonly Vpn[]
  filters?: readonly Filter[]
  family?: Family
  layouts?: readonly Layout[]
  because: string
  /** Absent: it is not delivered. */
  source?: Name
  device: Device
}

export interface Row {
  from: Host
  /** The address that the socket is bound to. */
  bind?: Name
  to: Name
  port: Port
  udp?: true
  /** The source that the other end sees. */
  source: Name
  /** By which the node's packets to the other end leave. */
  device: Device
  /** The table that the rules select for a packet of the node: main, that of the NIC, or that of the primary. */
  table?: 'main' | 'nic' | 'primary'
  /** The node's own chains move the packet to the NIC's table by its mark. */
  marked?: true
  except?: readonly Exception[]
}

export interface Conditions {
  layout: Layout
  filter: Filter
  vpn: Vpn
  family: Family
}

/** Whether the layout has every address of the row. */
export function isPossible(row: Row, layout: Layout): boolean {
  const needed = [row.bind, row.to, row.source].filter(name => name === 'A2' || name === 'B' || name === 'AP')
  return needed.every(name => nicOf(name, layout) !== undefined)
}

export function exceptionOf(row: Row, { layout, filter, vpn, family }: Conditions): Exception | undefined {
  return row.except?.find(
    exception =>
      (exception.vpns?.includes(vpn) ?? true) &&
      (exception.filters?.includes(filter) ?? true) &&
      (exception.layouts?.includes(layout) ?? true) &&
      (exception.family ?? family) === family,
  )
}

/** `from A by multinic0`, or `lost, by wg0`. */
export function expectedOf(row: Row, conditions: Conditions): string {
  const { source, device } = exceptionOf(row, conditions) ?? row
  const name = device === 'tunnel' ? 'wg0' : device === 'none' ? 'none' : deviceOf(device, conditions.layout)
  return source === undefined ? `lost, by ${name}` : `from ${source} by ${name}`
}

export function seenOf({ source, devices }: Outcome): string {
  const by = devices.length === 0 ? 'none' : devices.join('+')
  return source === undefined ? `lost, by ${by}` : `from ${source} by ${by}`
}
