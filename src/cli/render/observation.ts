/**
 * Text of the comparison of an interface: the age of its observation, what waits, and what differs. Pure.
 */
import type { Deviation } from '../../contract/inventory.ts'
import type { Observation } from '../../contract/observation.ts'
import type { Messages } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import { ago } from './reason.ts'
import type { Cell } from './table.ts'

/** `observed 5m ago`, or `not verified since` its time. Empty if nobody has looked yet. */
export function observedCell({ observedAt, notVerifiedSince }: Observation, options: RenderOptions): Cell {
  const { texts } = options
  if (notVerifiedSince !== undefined) return { text: texts.notVerifiedSince(notVerifiedSince), tone: 'busy' }
  return observedAt === undefined ? '' : { text: texts.observed(ago(observedAt, options)), tone: 'dim' }
}

export function differenceTexts({ differences }: Pick<Deviation, 'differences'>, texts: Messages): string[] {
  return differences.map(({ field, wanted, observed }) => texts.difference(field, observed || texts.none, wanted))
}

/** What the newest request waits for, then each difference. */
export function comparisonLines(nic: Pick<Deviation, 'differences' | 'pending'>, { texts }: RenderOptions): string[] {
  const { pending } = nic
  return [...(pending ? [texts.pending(pending.reason, pending.message)] : []), ...differenceTexts(nic, texts)]
}
