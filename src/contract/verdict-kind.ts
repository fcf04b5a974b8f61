/**
 * What becomes of a port or VM, from the verdict of the operator. Free of dependencies: the CLI and the dashboard must agree.
 */

/** A port outside the selection is neither selected nor ignored: MultiNIC does not manage it. */
export type VerdictKind = 'selected' | 'ignored' | 'notManaged'

const notManaged = new Set(['PrimaryPort', 'NotSelected', 'SelectedByOther', 'NodeNotSelected'])

/** The port is an interface of its node, which stays. */
const selected = new Set(['Selected', 'RemovalPending', 'RemovalUnconfirmed', 'SubnetNameReused'])

export function verdictKind(reason: string): VerdictKind {
  if (selected.has(reason)) return 'selected'
  return notManaged.has(reason) ? 'notManaged' : 'ignored'
}

/** Requested, but not delivered: selected ports that no node has. */
export function undeliveredIn<T extends { portId?: string | undefined; reason: string }>(
  verdicts: readonly T[],
  deliveredPorts: Iterable<string | undefined>,
): T[] {
  const delivered = new Set(deliveredPorts)
  return verdicts.filter(
    ({ portId, reason }) => portId !== undefined && verdictKind(reason) === 'selected' && !delivered.has(portId),
  )
}
