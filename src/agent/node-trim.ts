/**
 * The end of a pass: removes from the state that all NICs share what only the pass needed. That is what NICs had before it, or
 * what was requested for NICs that failed.
 */

import { applyUnits, type Failures } from './apply/apply.ts'
import { writeJournal } from './apply/journal.ts'
import { rollBack } from './apply/rollback.ts'
import { commitAll, stageAll } from './apply/staging.ts'
import type { AgentContext } from './context.ts'
import { observeNode, planNode } from './pass-view.ts'
import { nodeDifferences, nodeGroup } from './plan/node-routing.ts'
import type { Plan } from './plan/plan.ts'
import type { Change } from './state/change.ts'
import { summarize } from './state/difference.ts'
import type { Observed } from './state/observed.ts'
import { withPurpose } from './state/unit.ts'

/** `observed` has the records of the NICs as they are now; `failed` are the indexes that count with their records alone. */
export async function trimNode(
  observed: Observed,
  failed: ReadonlySet<number>,
  context: AgentContext & { done: Set<Change>; notRestored: string[] },
): Promise<{ node: Plan['node']; observed: Observed; failures: Failures }> {
  const { host, paths } = context
  const plan = planNode(observed, context, failed, { keepsOrphans: true })
  const { node } = plan
  const units = withPurpose(plan.units, 'node')
  if (units.length === 0) return { node, observed, failures: new Map() }
  writeJournal(host, paths, { bootID: observed.bootID, units })
  const notStaged = stageAll(units, host)
  const { failures: notApplied } =
    notStaged.size > 0 ? { failures: notStaged } : await applyUnits(units, observed, context)
  const after = await observeNode(context)
  const difference = summarize(nodeDifferences(node, after, paths, 'kernel'))
  const failures = new Map([...notApplied, ...(difference ? [[nodeGroup, difference] as const] : [])])
  if (failures.size === 0) for (const [group, failure] of commitAll(units, context)) failures.set(group, failure)
  if (failures.size > 0) context.notRestored.push(...(await rollBack(units, after, context)))
  return { node, observed: await observeNode(context), failures }
}
