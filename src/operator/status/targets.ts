/**
 * Where an object delivers, and the targets that it delivered to before its provider or Viola was changed. Pure.
 *
 * Nodes of a previous target are not removed: the edit of an address must not empty a cluster. The status lists them until
 * the object points there again, or a person confirms by the annotation that approves removals.
 */
import type { OpenstackConfigStatus } from '../../contract/openstack-config.ts'
import type { Findings, Target } from '../record/sync-outcome.ts'

const maxTargets = 10

/** A new address whose Viola already has what this object delivered is the same Viola under another name. */
export function targetsOf(
  before: OpenstackConfigStatus,
  { target, targetKnown, nodes, approval }: Pick<Findings, 'target' | 'targetKnown' | 'nodes' | 'approval'>,
): Pick<OpenstackConfigStatus, 'deliveredTo' | 'orphanedNodes'> {
  const { deliveredTo: previous, orphanedNodes = [] } = before
  const isConfirmed = approval !== undefined && approval !== before.approvedRemovals
  const isBack = orphanedNodes.some(one => isSame(one, target))
  const isRenamed = previous?.providerId === target.providerId && targetKnown && !isBack
  // It stays without nodes: the answer to a delivery may have been lost.
  const isDelivered = nodes.length > 0 || (previous !== undefined && isSame(previous, target))
  const left = [
    ...(isConfirmed ? [] : orphanedNodes),
    ...(previous && !isSame(previous, target) && !isRenamed ? [{ ...previous, nodes: before.nodes?.total ?? 0 }] : []),
  ].filter(one => one.nodes > 0 && !isSame(one, target))
  return {
    ...(isDelivered && { deliveredTo: target }),
    ...(left.length > 0 && { orphanedNodes: left.slice(-maxTargets) }),
  }
}

function isSame(a: Target, b: Target): boolean {
  return a.viola === b.viola && a.providerId === b.providerId
}

/** One sentence for each previous target. */
export function orphanedTexts(before: OpenstackConfigStatus, findings: Findings): string[] {
  return (targetsOf(before, findings).orphanedNodes ?? []).map(({ viola, providerId, nodes }) => {
    const subject = nodes === 1 ? '1 node keeps its' : `${nodes} nodes keep their`
    return `${subject} configuration at the previous target: provider ${providerId} at ${viola}`
  })
}
