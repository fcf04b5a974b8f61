/**
 * The verdicts of each OpenstackConfig that the inventory has, so that only those that differ are sent.
 */
import { equalJson } from '../../contract/json.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { type ObjectVerdicts, verdictChanges } from './verdict-changes.ts'

export interface StoredVerdicts {
  /** Undefined if they are not to be sent now. */
  changes(object: ObjectVerdicts): Iterable<VerdictWrite> | undefined
  /** The changes were sent. `isStored`: the inventory forbade none. */
  sent(object: ObjectVerdicts, isStored: boolean): void
  /** Some may be stored. */
  failed(object: ObjectVerdicts): void
  clear(): void
}

/** How often verdicts are sent to an inventory that forbids them. The right may come meanwhile. */
const unstoredRetryMs = 60_000

export function createStoredVerdicts(now: () => Date): StoredVerdicts {
  /** By OpenstackConfig. */
  const stored = new Map<string, ObjectVerdicts>()
  /** When the inventory forbade one. */
  let unstoredAt = Number.NEGATIVE_INFINITY
  return {
    changes(object) {
      // The clock may be set back.
      if (Math.abs(now().getTime() - unstoredAt) < unstoredRetryMs) return undefined
      const known = stored.get(object.config)
      const isSame = known?.providerId === object.providerId && equalJson(known.verdicts, object.verdicts)
      return isSame && equalJson(known.plan, object.plan) ? [] : verdictChanges(object, known)
    },
    sent(object, isStored) {
      // Also equal ones: the next sync usually has the same list, which compares at once.
      if (isStored && object.verdicts) stored.set(object.config, object)
      else stored.delete(object.config)
      if (!isStored) unstoredAt = now().getTime()
    },
    failed: ({ config }) => void stored.delete(config),
    clear: () => stored.clear(),
  }
}
