/**
 * The operator's verdicts on ports and VMs, as the screens show them. Pure.
 */
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { undeliveredIn } from '../../src/contract/verdict-kind.ts'
import type { Node } from './nodes.ts'

/** Verdicts on ports that are no NIC and on VMs that are no node, without duplicates across OpenstackConfigs. */
export function ignoredVerdicts(
  verdicts: readonly OperatorVerdict[] | undefined,
  nodes: readonly Node[],
): OperatorVerdict[] {
  if (!verdicts || verdicts.length === 0) return []
  const selected = new Set(nodes.flatMap(({ nics }) => nics.map(({ portId }) => portId)))
  const seen = new Set<string>()
  return verdicts.filter(({ portId, vm, reason, message }) => {
    if (portId && selected.has(portId)) return false
    const key = JSON.stringify([portId, vm, reason, message])
    return !seen.has(key) && seen.add(key)
  })
}

/** Selected ports that no node has: requested, but not delivered. */
export function undeliveredVerdicts(verdicts: readonly OperatorVerdict[], nodes: readonly Node[]): OperatorVerdict[] {
  return undeliveredIn(
    verdicts,
    nodes.flatMap(({ nics }) => nics.flatMap(nic => (nic.request ? [nic.portId] : []))),
  )
}

/** A verdict names a VM by its ID, or by the name that the OpenstackConfig uses. */
export function isVerdictOn(
  { vm }: OperatorVerdict,
  { instanceId, nodeName }: Pick<Node, 'instanceId' | 'nodeName'>,
): boolean {
  return vm !== '' && (vm === instanceId || vm === nodeName)
}
