/**
 * When a sync reads what: the only place that decides it (observe/inspection.ts says what the scopes are). Pure.
 */
import type { Hints } from '../events/hints.ts'
import type { Inspection, Scope } from '../observe/inspection.ts'
import type { Snapshot } from '../observe/snapshots.ts'
import { violaPollMs } from './sync-schedule.ts'

/** Why an object is reconciled. */
export interface Occasion {
  /** A person asked for a fresh read. */
  isForced: boolean
  /** It was woken for more than the status of its nodes. */
  isWoken: boolean
  hints: Pick<Hints, 'notified' | 'busRefused' | 'changed'>
  /** Undefined for the first sync, and after an edit or a forced one. */
  last:
    | {
        failures: number
        /** Milliseconds until the next sync that reads the cloud. */
        leftMs: number
        /** Undefined after a failure. */
        inspection: Inspection | undefined
      }
    | undefined
  /** Of the last sync that left one. */
  snapshot: Snapshot | undefined
}

/** A timer may end this much too early. */
const timerErrorMs = 2

/** Undefined if nothing is to be read yet. */
export function chooseScope({ isForced, isWoken, hints, last, snapshot }: Occasion): Scope | undefined {
  if (isForced) return { reads: 'everything', fresh: true }
  const listAge = { maxAgeMs: last ? violaPollMs : 0, maxStreamedMs: violaPollMs }
  if (!last) return { reads: 'everything', listAge }
  const { failures, leftMs, inspection } = last
  const isCloudDue = isWoken || hints.notified || hints.busRefused || leftMs < timerErrorMs
  // The status of nodes does not shorten the time after a failure.
  if (!isCloudDue && failures > 0) return undefined
  if (!isCloudDue && inspection) return { reads: 'cluster', last: inspection, listAge }
  if (failures === 0 && hints.changed && snapshot) return { reads: 'ports', changed: hints.changed, snapshot, listAge }
  return { reads: 'everything', listAge }
}
