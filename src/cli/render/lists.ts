/**
 * Text of `find` and `check`: one line per match, one line per deviation. Pure.
 */

import type { Deviation, HoldersAnswer, InventoryRecord, SearchHit } from '../../contract/inventory.ts'
import type { Observation } from '../../contract/observation.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import type { CheckedNic } from '../checked.ts'
import type { Messages } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import { nicViews, stateOf } from '../status.ts'
import { nameText } from './names.ts'
import { comparisonLines, differenceTexts, observedCell } from './observation.ts'
import { toneOf } from './paint.ts'
import { table } from './table.ts'

export const hitColumns = ['kind', 'value', 'providerId', 'nodeName', 'interface'] as const
export const hitStateColumns = [
  'status',
  'observedAt',
  'notVerifiedSince',
  'instanceName',
  'subnetName',
  'providerName',
] as const

/** A match, with the state of the interface or node that it is about. */
export interface HitView extends SearchHit, Observation {
  providerName?: string
  instanceId?: string
  instanceName?: string
  subnetName?: string
  status?: string
  differences?: Deviation['differences']
}

/** A node was observed when its interface with the oldest observation was. */
export function hitView(hit: SearchHit, records: readonly InventoryRecord[], now: Date): HitView {
  const record = records.find(one => one.providerId === hit.providerId && one.nodeName === hit.nodeName)
  if (!record) return hit
  const { instanceId, instanceName, providerName } = record
  const nics = nicViews(record, now)
  const nic = nics.find(({ name }) => name === hit.interface)
  const { observedAt, notVerifiedSince } = nic ?? oldestOf(nics) ?? {}
  return {
    ...hit,
    instanceId,
    ...(instanceName !== undefined && { instanceName }),
    ...(providerName !== undefined && { providerName }),
    ...(nic?.subnetName !== undefined && { subnetName: nic.subnetName }),
    status: nic?.status ?? stateOf(record),
    ...(observedAt !== undefined && { observedAt }),
    ...(notVerifiedSince !== undefined && { notVerifiedSince }),
    ...(nic && { differences: nic.differences }),
  }
}

export function oldestOf<T extends Observation>(observations: readonly T[]): T | undefined {
  return observations
    .filter(({ observedAt }) => observedAt !== undefined)
    .reduce<T | undefined>(
      (oldest, one) => ((oldest?.observedAt ?? one.observedAt ?? '') < (one.observedAt ?? '') ? oldest : one),
      undefined,
    )
}

/** Wide: with IDs, and with the VM of the node. */
export function hitLines(hits: readonly HitView[], options: RenderOptions): string[] {
  const { paint, wide, texts, columns } = options
  const { kind, value, node, interface: nic, subnet, provider, status, observed, difference, vm } = texts.columns
  const hasSubnets = hits.some(({ kind, subnetName }) => kind !== 'subnet' && subnetName)
  const isDifferent = hits.some(({ differences = [] }) => differences.length > 0)
  const head = [
    kind,
    value,
    node,
    nic,
    ...(hasSubnets ? [subnet] : []),
    status,
    observed,
    ...(isDifferent ? [difference] : []),
    provider,
  ]
  const rows = hits.map(hit => [
    hit.kind,
    { text: hit.value, tone: 'strong' as const },
    hit.nodeName,
    hit.interface,
    ...(hasSubnets ? [hit.subnetName] : []),
    { text: hit.status ?? '', tone: toneOf(hit.status) },
    observedCell(hit, options),
    ...(isDifferent ? [differenceTexts({ differences: hit.differences ?? [] }, texts).join('; ')] : []),
    nameText(hit.providerName, hit.providerId, options),
    ...(wide ? [nameText(hit.instanceName, hit.instanceId ?? '', options)] : []),
  ])
  const optional = [provider, subnet, observed, kind].map(one => head.indexOf(one))
  return table([...head, ...(wide ? [vm] : [])], rows, paint, { columns, optional })
}

export const holderColumns = [
  'kind',
  'value',
  'providerId',
  'nodeName',
  'interface',
  'from',
  'to',
  'providerName',
] as const

export function holderLines({ holders }: HoldersAnswer, options: RenderOptions): string[] {
  const { paint, texts, columns } = options
  const { kind, value, node, interface: nic, provider, from, to } = texts.columns
  const rows = holders.map(one => [
    one.kind,
    { text: one.value, tone: 'strong' as const },
    one.nodeName,
    one.interface,
    one.from,
    one.to ?? texts.now,
    nameText(one.providerName, one.providerId, options),
  ])
  // Provider, kind, and the value, which the user has typed.
  return table([kind, value, node, nic, from, to, provider], rows, paint, { columns, optional: [6, 0, 1] })
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
  'pending',
  'delivered',
  'observedAt',
  'notVerifiedSince',
  'providerName',
] as const

export function deviationRow(
  deviation: CheckedNic,
  texts: Messages,
): Record<(typeof deviationColumns)[number], string> {
  const { providerId, providerName = '', nodeName, portId = '', status = '', reason = '' } = deviation
  const { pending, observedAt = '' } = deviation
  return {
    providerId,
    nodeName,
    interface: deviation.interface,
    portId,
    status,
    reason,
    differences: differenceTexts(deviation, texts).join('; '),
    pending: pending?.reason ?? '',
    delivered: String(deviation.delivered),
    observedAt,
    notVerifiedSince: deviation.notVerifiedSince ?? '',
    providerName,
  }
}

export function deviationLines(deviations: readonly CheckedNic[], options: RenderOptions): string[] {
  const { paint, wide, texts, language } = options
  const { node, interface: nic, status: state, reason: why, difference, observed, port, provider } = texts.columns
  const head = [node, nic, state, why, difference, observed, ...(wide ? [port, provider] : [])]
  const rows = deviations.map(deviation => {
    const { nodeName, status = 'Pending', reason = '', portId, providerId, providerName } = deviation
    const compared = deviation.delivered ? comparisonLines(deviation, options).join('; ') : texts.notDelivered
    const what =
      compared || (status === 'Configured' ? '' : (reasonText(reason, language)?.meaning ?? texts.notReported))
    const state = { text: status, tone: toneOf(status) }
    return [
      nodeName,
      deviation.interface,
      state,
      reason,
      what,
      observedCell(deviation, options),
      ...(wide ? [portId, nameText(providerName, providerId, options)] : []),
    ]
  })
  const fit = { columns: options.columns, optional: [head.indexOf(observed)] }
  return [...table(head, rows, paint, fit), ...remediesOf(deviations, options)]
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
