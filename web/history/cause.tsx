/**
 * Why an entry of the history exists: the reason of a state in the chosen language with its remedy, or what was requested.
 */
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { type Cause, causeOfEntry } from '../model/diff.ts'
import { useUi } from '../ui/context.ts'

export function EntryCause({ entry }: { entry: HistoryEntry }) {
  return <CauseText what={entry.what} why={entry.why} cause={causeOfEntry(entry)} />
}

interface CauseProps {
  what: HistoryEntry['what']
  why: string
  cause: Cause | undefined
}

export function CauseText({ what, why, cause }: CauseProps) {
  const { explain } = useUi()
  // The state alone is in the headline, in the language of the user.
  if (!cause) return <span>{what === 'status' ? '' : why}</span>
  const { meaning, remedy } = explain(cause)
  return (
    <>
      <b class="strong">{cause.reason}</b> {meaning || cause.message}
      {remedy && <span class="block mid">{remedy}</span>}
    </>
  )
}
