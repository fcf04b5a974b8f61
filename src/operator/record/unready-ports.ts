/**
 * The selected ports of an object that are not ready, and since when. A restarted operator, or a new leader, starts to count
 * again.
 */
import type { DeliveryResult } from '../deliver/deliver-plan.ts'
import type { Observed } from '../plan/observed-state.ts'
import { byReason } from '../plan/verdicts.ts'
import { isReady } from './inventory-record.ts'
import type { Findings } from './sync-outcome.ts'

export interface UnreadyPorts {
  /** Replaces the ports of an object that are not ready. */
  update(config: string, portIds: readonly string[]): void
  /** Seconds since the first of them was not ready; 0 if all are. */
  oldestSeconds(config: string): number
  configs(): Iterable<string>
  forget(config: string): void
}

export function createUnreadyPorts(now: () => Date): UnreadyPorts {
  const since = new Map<string, Map<string, number>>()
  return {
    update(config, portIds) {
      const before = since.get(config)
      const at = now().getTime()
      since.set(config, new Map(portIds.map(id => [id, before?.get(id) ?? at])))
    },
    oldestSeconds(config) {
      const at = now().getTime()
      // Thousands of ports may wait: a spread would exceed the number of arguments.
      return [...(since.get(config)?.values() ?? [])].reduce((oldest, time) => Math.max(oldest, at - time), 0) / 1_000
    },
    configs: () => since.keys(),
    forget: config => void since.delete(config),
  }
}

/** The selected ports that are not delivered, or that their node has not configured. */
export function unreadyPorts(
  { nodes, verdicts }: Pick<Findings, 'nodes' | 'verdicts'>,
  result: Pick<DeliveryResult, 'nodes' | 'observed'>,
): string[] {
  const unready = new Set(undelivered(result.observed))
  // All interfaces of a configured node are ready. To compare each of thousands would cost more than the rest of a sync.
  const configured = new Set(nodes.flatMap(({ nodeName, state }) => (state === 'Configured' ? [nodeName] : [])))
  for (const { node } of result.nodes)
    if (!configured.has(node.nodeName))
      for (const nic of node.interfaces) if (nic.portId !== undefined && !isReady(nic, node)) unready.add(nic.portId)
  if (unready.size === 0) return []
  const selected = byReason(verdicts).find(({ reason }) => reason === 'Selected')
  return selected?.portIds.filter(id => unready.has(id)) ?? []
}

/** Ports of the cloud that no node of the cluster has. */
export function undelivered({ ports, delivered }: Pick<Observed, 'ports' | 'delivered'>): readonly string[] {
  const known = new Set<string | undefined>()
  for (const { interfaces } of delivered) for (const { portId } of interfaces) known.add(portId)
  return ports.flatMap(({ id }) => (known.has(id) ? [] : id))
}
