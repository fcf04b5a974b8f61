/**
 * Rules of others that have a table or a priority of a NIC. They stay, and the report names them.
 *
 * Pure.
 */

import { ruleText } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { Observed } from '../state/observed.ts'
import { namesRule } from '../state/owned-rules.ts'
import type { OwnedNic } from '../state/ownership.ts'

/** By the index of the NIC. */
export type ForeignRules = Map<number, string[]>

export function foreignRulesOf(
  desired: readonly DesiredNic[],
  desiredRules: ReadonlySet<string>,
  { rules }: Observed,
  owned: readonly OwnedNic[],
): ForeignRules {
  const foreign = rules.filter(
    rule => !(rule.plain && (desiredRules.has(ruleText(rule)) || owned.some(nic => namesRule(nic.rules, rule)))),
  )
  const found = new Map<number, string[]>()
  for (const nic of desired) {
    const priorities = new Set(nic.rules.map(rule => rule.priority))
    const beside = foreign.filter(rule => rule.table === nic.table || priorities.has(rule.priority))
    if (beside.length > 0) found.set(nic.index, beside.map(ruleText))
  }
  return found
}
