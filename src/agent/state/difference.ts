/**
 * A difference between what is requested and what is.
 */
import type { InterfaceReason } from '../../contract/reasons/catalogue.ts'

export interface Difference {
  reason: InterfaceReason
  message: string
}

/** One failure with the reason of the first difference; undefined when there is none. */
export function summarize(found: readonly Difference[]): Difference | undefined {
  const [first] = found
  return first && { reason: first.reason, message: found.map(({ message }) => message).join('; ') }
}
