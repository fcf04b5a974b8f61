/**
 * What every surface says about a node beside what its kernel says. claims.ts has the surfaces that say something about one NIC,
 * node-claims.ts those about a node, fleet-surfaces.ts those about all nodes. test/repo/surfaces.ts lists every surface.
 */
import type { NodeView as SandboxNodeView } from '../../sandbox/control/status.ts'
import type { NodeView } from '../../src/cli/status.ts'
import type { NodeWhy } from '../../src/cli/why.ts'
import type { Deviation, HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import type { Language } from '../../src/contract/reasons/reason.ts'
import type { EventObject, NodeObject } from '../../src/kube/types.ts'
import type { Node } from '../../web/model/nodes.ts'
import type { Port } from '../../web/model/ports.ts'
import type { NicState } from '../system/sandbox.fixture.ts'

/** Undefined: the surface does not know the node. */
export interface Surfaces {
  vm: string
  /** Time of the reading. */
  at: number
  kernel: NicState[]
  config: NodeConfig | undefined
  /** Cells of `kubectl get mnnc` by column. */
  columns: Record<string, unknown> | undefined
  /** The Node of Kubernetes. */
  node: NodeObject | undefined
  /** Of the MultiNicNodeConfig. */
  events: EventObject[]
  record: InventoryRecord | undefined
  /** Of this node, as the history and its stream have it. */
  newest: HistoryEntry | undefined
  streamed: HistoryEntry | undefined
  /** Of this node. */
  deviations: Deviation[]
  status: NodeView | undefined
  check: Deviation[]
  why: NodeWhy | undefined
  exported: { macAddress: string; status: string }[]
  /** Of each requested port. */
  found: { value: string; nodeName: string; interface: string; status: string; pending?: unknown }[]
  /** `port node interface` of each requested port, by the history of owners. */
  owners: string[]
  texts: Record<Language, { status: string; check: string }>
  dashboard: Node | undefined
  ports: Port[]
  sandbox: SandboxNodeView | undefined
}

export type WantedNic = NodeConfig['spec']['interfaces'][number]

/** The NIC of the port in the kernel. */
export function kernelNic({ kernel }: Surfaces, { macAddress }: Pick<WantedNic, 'macAddress'>): NicState | undefined {
  return kernel.find(nic => nic.macAddress === macAddress)
}

export function matchesKernel(surfaces: Surfaces, nic: WantedNic): boolean {
  const found = kernelNic(surfaces, nic)
  return (
    found !== undefined &&
    found.name === nic.name &&
    found.mtu === nic.mtu &&
    found.up &&
    found.addresses.includes(`${nic.address}/24`)
  )
}
