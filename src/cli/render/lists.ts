/**
 * What `find` and `check` say: one line a hit, one line a difference. Pure.
 */
import type { Deviation, SearchHit } from '../../contract/inventory.ts'
import { reasonText } from '../../contract/reasons.ts'
import { type Paint, toneOf } from './paint.ts'
import { table } from './table.ts'

export const hitColumns = ['kind', 'value', 'providerId', 'nodeName', 'interface'] as const

export function hitLines(hits: readonly SearchHit[], paint: Paint): string[] {
  const rows = hits.map(hit => [hit.kind, { text: hit.value, tone: 'strong' as const }, hit.nodeName, hit.interface])
  const withProvider = rows.map((row, at) => [...row, hits[at]?.providerId])
  return table(['KIND', 'VALUE', 'NODE', 'INTERFACE', 'PROVIDER'], withProvider, paint)
}

export const deviationColumns = [
  'providerId',
  'nodeName',
  'interface',
  'portId',
  'status',
  'reason',
  'differences',
] as const

export function deviationRow(deviation: Deviation): Record<(typeof deviationColumns)[number], string> {
  const { providerId, nodeName, portId = '', status = '', reason = '' } = deviation
  return {
    providerId,
    nodeName,
    interface: deviation.interface,
    portId,
    status,
    reason,
    differences: differencesOf(deviation).join('; '),
  }
}

export function deviationLines(deviations: readonly Deviation[], { paint, wide }: { paint: Paint; wide: boolean }) {
  const head = ['NODE', 'INTERFACE', 'STATUS', 'REASON', 'WHAT IS WRONG', ...(wide ? ['PORT', 'PROVIDER'] : [])]
  const rows = deviations.map(deviation => {
    const { nodeName, status = 'Pending', reason = '', portId, providerId } = deviation
    const differences = differencesOf(deviation).join('; ')
    const what = differences || (reasonText(reason)?.meaning ?? 'nothing was reported yet')
    const state = { text: status, tone: toneOf(status) }
    return [nodeName, deviation.interface, state, reason, what, ...(wide ? [portId, providerId] : [])]
  })
  return [...table(head, rows, paint), ...remediesOf(deviations, paint)]
}

/** Once a reason, however many interfaces have it. */
function remediesOf(deviations: readonly Deviation[], paint: Paint): string[] {
  const remedies = new Map(deviations.flatMap(({ reason, remedy }) => (reason && remedy ? [[reason, remedy]] : [])))
  const lines = [...remedies].map(([reason, remedy]) => `${paint('strong', '→')} ${reason}: ${remedy}`)
  return lines.length > 0 ? ['', ...lines] : []
}

function differencesOf({ differences }: Deviation): string[] {
  return differences.map(({ field, wanted, observed }) => `${field} is ${observed || 'none'}, wanted ${wanted}`)
}
