/**
 * The requested state of a chaos run: the ports of each VM, and the VMs and subnets in the OpenstackConfig. Pure.
 */
export interface ModelPort {
  id: string
  macAddress: string
  vm: string
  subnet: string
}

export interface Model {
  /** Ports by their name in the history. */
  readonly ports: Map<string, ModelPort>
  /** VMs that the OpenstackConfig does not name now. */
  readonly excluded: Set<string>
  /** VMs that were excluded at any time: their delivered state may be that of before or after. */
  readonly everExcluded: Set<string>
  /** Subnets that the OpenstackConfig does not select now, and those that it did not select at any time. */
  readonly excludedSubnets: Set<string>
  readonly everExcludedSubnets: Set<string>
  /** VMs with a NIC that somebody changed by hand. */
  readonly drifted: Set<string>
  /** MAC addresses of all ports that ever existed. */
  readonly macAddresses: Set<string>
}

export function emptyModel(): Model {
  return {
    ports: new Map(),
    excluded: new Set(),
    everExcluded: new Set(),
    excludedSubnets: new Set(),
    everExcludedSubnets: new Set(),
    drifted: new Set(),
    macAddresses: new Set(),
  }
}

/** Whether the port was requested at all times since it was attached. Then no component may remove it. */
export function alwaysRequested({ ports, everExcluded, everExcludedSubnets }: Model, portId: string): boolean {
  const port = [...ports.values()].find(({ id }) => id === portId)
  return port !== undefined && !everExcluded.has(port.vm) && !everExcludedSubnets.has(port.subnet)
}

export function requestedPorts({ ports, excluded, excludedSubnets }: Model, vm: string): ModelPort[] {
  if (excluded.has(vm)) return []
  return [...ports.values()].filter(port => port.vm === vm && !excludedSubnets.has(port.subnet))
}
