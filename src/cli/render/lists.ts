/**
 * Text of `find` and `check`: one line per match, one line per deviation. Pure.
 */

import type { Deviation, HoldersAnswer, InventoryRecord, SearchHit } from '../../contract/inventory.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import type { Messages } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import { stateOf } from '../status.ts'
import { toneOf } from './paint.ts'
import { table } from './table.ts'

export const hitColumns = ['kind', 'value', 'providerId', 'nodeName', 'interface'] as const

/** With the records of the nodes, each line also has the state and the VM of the node. */
export function hitLines(
  hits: readonly SearchHit[],
  { paint, texts }: RenderOptions,
  records?: readonly InventoryRecord[],
): string[] {
  const { kind, value, node, interface: nic, provider, state, vm } = texts.columns
  const head = [kind, value, node, nic, provider, ...(records ? [state, vm] : [])]
  const rows = hits.map(({ kind, value, nodeName, interface: nic, providerId }) => {
    const record = records?.find(one => one.providerId === providerId && one.nodeName === nodeName)
    const state = record && stateOf(record)
    const node = records ? [state && { text: state, tone: toneOf(state) }, record?.instanceId] : []
    return [kind, { text: value, tone: 'strong' as const }, nodeName, nic, providerId, ...node]
  })
  return table(head, rows, paint)
}

export const holderColumns = ['kind', 'value', 'providerId', 'nodeName', 'interface', 'from', 'to'] as const

export function holderLines({ holders }: HoldersAnswer, { paint, texts }: RenderOptions): string[] {
  const { kind, value, node, interface: nic, provider, from, to } = texts.columns
  const rows = holders.map(one => [
    one.kind,
    { text: one.value, tone: 'strong' as const },
    one.nodeName,
    one.interface,
    one.from,
    one.to ?? texts.now,
    one.providerId,
  ])
  return table([kind, value, node, nic, from, to, provider], rows, paint)
}

/** What the list leaves out. */
export function holderLimits({ holders, keptSince, more }: HoldersAnswer, texts: Messages): string[] {
  return [
    ...(more ? [texts.moreHolders(holders.length)] : []),
    ...(keptSince ? [texts.holdersKeptSince(keptSince)] : []),
  ]
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

export function deviationRow(deviation: Deviation, texts: Messages): Record<(typeof deviationColumns)[number], string> {
  const { providerId, nodeName, portId = '', status = '', reason = '' } = deviation
  return {
    providerId,
    nodeName,
    interface: deviation.interface,
    portId,
    status,
    reason,
    differences: differencesOf(deviation, texts).join('; '),
  }
}

export function deviationLines(deviations: readonly Deviation[], options: RenderOptions): string[] {
  const { paint, wide, texts, language } = options
  const { columns } = texts
  const head = [
    ...[columns.node, columns.interface, columns.status, columns.reason, columns.difference],
    ...(wide ? [columns.port, columns.provider] : []),
  ]
  const rows = deviations.map(deviation => {
    const { nodeName, status = 'Pending', reason = '', portId, providerId } = deviation
    const differences = differencesOf(deviation, texts).join('; ')
    const what = differences || (reasonText(reason, language)?.meaning ?? texts.notReported)
    const state = { text: status, tone: toneOf(status) }
    return [nodeName, deviation.interface, state, reason, what, ...(wide ? [portId, providerId] : [])]
  })
  return [...table(head, rows, paint), ...remediesOf(deviations, options)]
}

/** One remedy per reason, however many interfaces have it. */
function remediesOf(deviations: readonly Deviation[], { paint, language }: RenderOptions): string[] {
  const remedies = new Map(
    deviations.flatMap(({ reason, remedy }) => {
      const text = reason && (reasonText(reason, language)?.remedy ?? remedy)
      return reason && text ? [[reason, text]] : []
    }),
  )
  const lines = [...remedies].map(([reason, remedy]) => `${paint('strong', '→')} ${reason}: ${remedy}`)
  return lines.length > 0 ? ['', ...lines] : []
}

function differencesOf({ differences }: Deviation, texts: Messages): string[] {
  return differences.map(({ field, wanted, observed }) => texts.difference(field, observed || texts.none, wanted))
}
