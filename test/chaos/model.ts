/**
 * What the world should come to: the ports of each VM, and which VMs the OpenstackConfig names. Pure.
 */
export interface ModelPort {
  id: string
  macAddress: string
  vm: string
  subnet: string
}

export interface Model {
  /** By the name that the history gives them. */
  readonly ports: Map<string, ModelPort>
  /** VMs that the OpenstackConfig does not name at the moment. */
  readonly away: Set<string>
  /** VMs that were taken out of it at some time: what is delivered may be of before or after. */
  readonly left: Set<string>
  /** MACs of all ports that ever were. */
  readonly macs: Set<string>
}

export function emptyModel(): Model {
  return { ports: new Map(), away: new Set(), left: new Set(), macs: new Set() }
}

/** Whether people have wanted this port ever since it was attached, so that nobody may take it away. */
export function isWanted({ ports, left }: Model, portId: string): boolean {
  const port = [...ports.values()].find(({ id }) => id === portId)
  return port !== undefined && !left.has(port.vm)
}

export function wantedOf({ ports, away }: Model, vm: string): ModelPort[] {
  return away.has(vm) ? [] : [...ports.values()].filter(port => port.vm === vm)
}
