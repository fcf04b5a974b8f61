/**
 * The changes of one entry: states, NICs that were added or removed, fields before and after.
 */
import { type Change, fieldChangesOf, transitionsOf } from '../model/diff.ts'
import { useUi } from '../ui/context.ts'
import { SeverityLabel } from '../ui/panel.tsx'

export function ChangeList({ changes }: { changes: readonly Change[] }) {
  const { t } = useUi()
  const transitions = transitionsOf(changes)
  const fields = changes.flatMap(change => fieldChangesOf(change).map(field => ({ nic: change.nic, ...field })))
  const nics = changes.filter(({ op }) => op !== 'changed')
  if (transitions.length + fields.length + nics.length === 0) return null
  return (
    <div class="diff">
      {transitions.map(({ nics: names, before, after, reason }) => (
        <div key={`${names} ${after}`} class="transition">
          <span class="mono">{names}</span>
          <span class="dim">{t(`severity.${before}`)} →</span>
          <SeverityLabel severity={after} />
          {reason && after !== 'configured' && <span class="dim">{reason}</span>}
        </div>
      ))}
      {nics.map(change => (
        <div key={change.nic} class={change.op === 'added' ? 'plus' : 'minus'}>
          {nicText(change)}
        </div>
      ))}
      {fields.flatMap(({ nic, field, before, after }) => [
        before && (
          <div key={`${nic} ${field} before`} class="minus">
            {nic} {field}: {before}
          </div>
        ),
        after && (
          <div key={`${nic} ${field} after`} class="plus">
            {nic} {field}: {after}
          </div>
        ),
      ])}
    </div>
  )
}

/** The line of a NIC that was added or removed. */
function nicText({ op, nic, fields }: Change): string {
  const side = op === 'added' ? 'after' : 'before'
  const shown = fields.filter(({ field }) => field === 'address' || field === 'mtu')
  return [nic, ...shown.map(each => (each.field === 'mtu' ? `mtu ${each[side]}` : each[side]))]
    .filter(Boolean)
    .join('  ')
}
