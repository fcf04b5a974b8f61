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
import { stages } from '../../src/contract/stages.ts'
import type { EventObject, NodeObject } from '../../src/kube/types.ts'
import { countsOf, type Node } from '../../web/model/nodes.ts'
import type { Port } from '../../web/model/ports.ts'
import type { NicState } from '../system/sandbox.fixture.ts'
import { claimsOf } from './claims.ts'
import { nodeContradictions } from './node-claims.ts'

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

/** After a check: what any surface says and the kernel denies, or the other way round. */
export function contradictions(surfaces: Surfaces): string[] {
  const { config, record, status, dashboard } = surfaces
  if (!config) return dashboard && dashboard.nics.length > 0 ? ['the dashboard shows NICs of a node without a CR'] : []
  const wanted = config.spec.interfaces
  const matching = wanted.filter(nic => matchesKernel(surfaces, nic)).length
  const found = wanted.flatMap(nic => {
    const matches = matchesKernel(surfaces, nic)
    const kernel = JSON.stringify(kernelNic(surfaces, nic) ?? 'no such NIC')
    const claims = Object.entries(claimsOf(surfaces, nic))
      .filter(([, claim]) => claim !== matches)
      .map(([surface, claim]) => `${surface} says ${claim ? '' : 'not '}as requested`)
    return [...claims, ...observationErrors(surfaces, nic)].map(text => `${nic.name}: ${text}; ip says ${kernel}`)
  })
  const counts: Record<string, [string | undefined, string]> = {
    'the NICs of the CR': [config.status?.nics, `${matching}/${wanted.length}`],
    'the NICs of the inventory': [`${record?.config.interfaces.length ?? 0}`, `${wanted.length}`],
    'the NICs of multinic status': [`${status?.interfaces.length ?? 0}`, `${wanted.length}`],
  }
  if (dashboard) {
    const { configured, nics } = countsOf([dashboard])
    counts['the NICs of the dashboard'] = [`${configured}/${nics}`, `${matching}/${wanted.length}`]
  }
  const wrong = Object.entries(counts).filter(([, [is, expected]]) => is !== expected)
  const ofNode = nodeContradictions(surfaces, { matching, wanted: wanted.length })
  return [...found, ...wrong.map(([what, [is, expected]]) => `${what} are ${is}, expected ${expected}`), ...ofNode]
}

/** Observed values that differ from the kernel. */
export function observationErrors(surfaces: Surfaces, nic: WantedNic): string[] {
  const { config, record, dashboard } = surfaces
  const kernel = kernelNic(surfaces, nic)
  const observations = {
    'the CR': config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the inventory': record?.interfaces?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the dashboard': dashboard?.nics.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
  }
  return Object.entries(observations).flatMap(([surface, observed]) => {
    if (!observed || !kernel) return []
    const { name, mtu, link, addresses = [] } = observed
    const isSame =
      name === kernel.name &&
      mtu === kernel.mtu &&
      (link === 'up') === kernel.up &&
      kernel.addresses.every(address => addresses.includes(address))
    return isSame ? [] : [`${surface} observed ${JSON.stringify(observed)}`]
  })
}

/** What can never be right, whatever is in progress. */
export function impossibilities({ at, config, record }: Surfaces): string[] {
  const found: string[] = []
  for (const nic of record?.interfaces ?? []) {
    const times = stages.flatMap(stage => nic.stages?.[stage] ?? [])
    if (times.some((time, index) => Date.parse(time) < Date.parse(times[index - 1] ?? time)))
      found.push(`${nic.name}: stages in the order ${times.join()}`)
    const inConfig = config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)
    for (const [surface, time] of [
      ['the inventory', nic.lastChecked],
      ['the CR', inConfig?.lastChecked],
    ])
      if (time !== undefined && Date.parse(time) > at) found.push(`${nic.name}: ${surface} was checked in the future`)
    if (nic.lastChecked && inConfig?.lastChecked && nic.lastChecked > inConfig.lastChecked)
      found.push(`${nic.name}: the inventory has an observation that the CR does not have`)
  }
  return found
}
