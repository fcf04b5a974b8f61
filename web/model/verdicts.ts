/**
 * The verdicts of the operator as the screens show them. Pure.
 */
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import type { Node } from './nodes.ts'

/** Ports that are no interface, and VMs that are no node; each once, and none that another object has taken. */
export function notTakenOf(
  verdicts: readonly OperatorVerdict[] | undefined,
  nodes: readonly Node[],
): OperatorVerdict[] {
  if (!verdicts || verdicts.length === 0) return []
  const taken = new Set(nodes.flatMap(({ nics }) => nics.map(({ portId }) => portId)))
  const seen = new Set<string>()
  return verdicts.filter(({ portId, vm, reason, message }) => {
    if (portId && taken.has(portId)) return false
    const key = JSON.stringify([portId, vm, reason, message])
    return !seen.has(key) && seen.add(key)
  })
}

/** A VM is told by its id, or by what the object calls it. */
export function isOf(
  { vm }: OperatorVerdict,
  { instanceId, nodeName }: Pick<Node, 'instanceId' | 'nodeName'>,
): boolean {
  return vm !== '' && (vm === instanceId || vm === nodeName)
}

export function verdictHas({ portId = '', vm, reason, message, config }: OperatorVerdict, text: string): boolean {
  const wanted = text.toLowerCase()
  return [portId, vm, reason, message, config].some(word => word.toLowerCase().includes(wanted))
}
