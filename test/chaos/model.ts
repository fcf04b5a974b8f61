/**
 * The requested state of a chaos run: the ports of each VM, and the VMs in the OpenstackConfig. Pure.
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
  /** MAC addresses of all ports that ever existed. */
  readonly macAddresses: Set<string>
}

export function emptyModel(): Model {
  return { ports: new Map(), excluded: new Set(), everExcluded: new Set(), macAddresses: new Set() }
}

/** Whether the port was requested at all times since it was attached. Then no component may remove it. */
export function alwaysRequested({ ports, everExcluded }: Model, portId: string): boolean {
  const port = [...ports.values()].find(({ id }) => id === portId)
  return port !== undefined && !everExcluded.has(port.vm)
}

export function requestedPorts({ ports, excluded }: Model, vm: string): ModelPort[] {
  return excluded.has(vm) ? [] : [...ports.values()].filter(port => port.vm === vm)
}
