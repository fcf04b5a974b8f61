/**
 * What `find` and `check` say: one line a hit, one line a difference. Pure.
 */
import type { Deviation, InventoryRecord, SearchHit } from '../../contract/inventory.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import { stateOf } from '../status.ts'
import { type Paint, toneOf } from './paint.ts'
import { table } from './table.ts'

export const hitColumns = ['kind', 'value', 'providerId', 'nodeName', 'interface'] as const

/** With the records of the nodes also how each node is, and which VM. */
export function hitLines(hits: readonly SearchHit[], paint: Paint, records?: readonly InventoryRecord[]): string[] {
  const head = ['KIND', 'VALUE', 'NODE', 'INTERFACE', 'PROVIDER', ...(records ? ['STATE', 'VM'] : [])]
  const rows = hits.map(({ kind, value, nodeName, interface: nic, providerId }) => {
    const record = records?.find(one => one.providerId === providerId && one.nodeName === nodeName)
    const state = record && stateOf(record)
    const node = records ? [state && { text: state, tone: toneOf(state) }, record?.instanceId] : []
    return [kind, { text: value, tone: 'strong' as const }, nodeName, nic, providerId, ...node]
  })
  return table(head, rows, paint)
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
