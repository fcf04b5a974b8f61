/**
 * Delivered interfaces that have another number than their subnet: somebody gave the subnet an index later. They stay until a
 * person asks for the move. Pure.
 */
import { type Interface, interfaceName } from '../contract/interfaces.ts'
import { byPreference, type Candidate } from './interface-indexes.ts'
import type { Observed } from './observed-state.ts'
import { addressesIn } from './verdicts.ts'

export interface Move {
  nodeName: string
  portId: string
  /** Names of the interface now and after the move. */
  from: string
  to: string
}

export function movesOf(
  nodes: readonly { nodeName: string; interfaces: readonly Interface[] }[],
  { source, subnets, ports }: Observed,
): Move[] {
  if (subnets.every(({ index }) => index === undefined)) return []
  const byId = new Map(ports.map(port => [port.id, port]))
  return nodes.flatMap(({ nodeName, interfaces }) => {
    const own = interfaces.flatMap((nic): (Candidate & { name: string; to: string })[] => {
      const port = nic.source === source ? byId.get(nic.portId ?? '') : undefined
      const match = port && addressesIn(port, subnets)
      if (!port || !match || !('subnet' in match) || match.index === undefined) return []
      return [{ port, match, name: nic.name, to: interfaceName(match.index) }]
    })
    return [...Map.groupBy(own, ({ to }) => to)].flatMap(([to, group]): Move[] => {
      const [first] = group.toSorted(byPreference)
      if (!first || group.some(({ name }) => name === to)) return []
      return [{ nodeName, portId: first.port.id, from: first.name, to }]
    })
  })
}
