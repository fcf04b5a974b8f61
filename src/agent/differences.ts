/**
 * What differs from the plan after the changes of a pass, by group of NICs, and which changes the kernel still needs.
 *
 * Pure.
 */

import type { Failure, Failures } from './apply/apply.ts'
import type { AgentContext } from './context.ts'
import { planNode } from './pass-view.ts'
import { nodeDifferences, nodeGroup } from './plan/node-routing.ts'
import type { Plan } from './plan/plan.ts'
import { type Change, describeChange, ruleText } from './state/change.ts'
import { summarize } from './state/difference.ts'
import type { Observed } from './state/observed.ts'
import { applyUnitOf, type Unit, withoutFailed, withPurpose } from './state/unit.ts'
import { tentativeAddresses } from './verify/settle.ts'
import { differences } from './verify/verify.ts'

/** Changes that the kernel still needs, for the NICs of this pass that have not failed. */
export function remainingKernelChanges(again: readonly Unit[], first: readonly Unit[], failures: Failures): Unit[] {
  return again.flatMap(unit => {
    const known = first.find(entry => entry.name === unit.name && entry.purpose === unit.purpose)
    const changes = unit.changes.filter(change => change.kind !== 'file' && change.kind !== 'altname')
    if (!known || failures.has(known.group) || changes.length === 0) return []
    return [{ ...unit, group: known.group, changes }]
  })
}

export function findDifferences(
  plan: Plan,
  units: readonly Unit[],
  after: Observed,
  { settings: { duplicateCheck }, paths }: AgentContext,
): Failures {
  const failures = new Map<string, Failure>()
  for (const { nic, link, isStale } of plan.accepted) {
    const group = applyUnitOf(units, nic.index)?.group
    if (group === undefined || failures.has(group)) continue
    const found = differences(nic, link.ifindex, after, isStale)
    const failure = summarize(duplicateCheck ? [...found, ...tentativeAddresses(link.ifindex, after)] : found)
    if (failure) failures.set(group, failure)
  }
  const nodeFailure = summarize(nodeDifferences(plan.node, after, paths, 'kernel'))
  if (nodeFailure && units.some(({ group }) => group === nodeGroup)) failures.set(nodeGroup, nodeFailure)
  return failures
}

/** What is still there of removed NICs. They are known by their files, which are gone already. */
export function findLeftovers(applied: Leftovers, after: Observed, context: AgentContext): Failures {
  const { plan, before, units, skip, failures } = applied
  const removals = withPurpose(withoutFailed(units, failures), 'remove')
  if (removals.length === 0) return new Map()
  const { units: again } = planNode({ ...after, files: before.files }, context, skip)
  const desired = new Set(plan.accepted.flatMap(({ nic }) => nic.rules.map(ruleText)))
  const failed = new Map<string, Failure>()
  for (const { group, changes } of remainingKernelChanges(again, removals, failures)) {
    // NetworkManager gets the NIC back last. A NIC with the same index may need the same rule.
    const isLeft = (change: Change) =>
      change.kind !== 'manager' && !(change.kind === 'rule' && desired.has(ruleText(change.rule)))
    const left = changes.filter(isLeft).map(describeChange)
    if (left.length > 0) failed.set(group, { reason: 'VerifyFailed', message: `still to do: ${left.join(', ')}` })
  }
  return failed
}

interface Leftovers {
  plan: Plan
  before: Observed
  units: readonly Unit[]
  skip: ReadonlySet<number>
  failures: Failures
}
