/**
 * The columns of `find`, `check` and `audit`: one row per match, deviation or request. Pure.
 */
import { type AuditEntry, auditColumns as auditFields } from '../../contract/audit.ts'
import type { Deviation, HoldersAnswer, InventoryRecord, SearchHit } from '../../contract/inventory.ts'
import type { Observation } from '../../contract/observation.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import type { CheckedNic } from '../checked.ts'
import type { Messages } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import { defined, nicViews, stateOf } from '../status.ts'
import { type Column, tableOf } from './list.ts'
import { nameText } from './names.ts'
import { comparisonLines, differenceTexts, observedCell } from './observation.ts'
import { toneOf } from './paint.ts'
import type { Cell } from './table.ts'

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
    ...defined({ instanceName, providerName, subnetName: nic?.subnetName }),
    status: nic?.status ?? stateOf(record),
    ...defined({ observedAt, notVerifiedSince, differences: nic?.differences }),
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
export const hitColumns: Column<HitView>[] = [
  { name: 'kind', title: ({ columns }) => columns.kind, drop: 4 },
  { name: 'value', title: ({ columns }) => columns.value, cell: strongValue },
  { name: 'providerId' },
  { name: 'nodeName', title: ({ columns }) => columns.node },
  { name: 'interface', title: ({ columns }) => columns.interface },
  {
    title: ({ columns }) => columns.subnet,
    cell: ({ subnetName }) => subnetName,
    ifAny: ({ kind, subnetName }) => kind !== 'subnet' && subnetName,
    drop: 2,
  },
  {
    name: 'status',
    title: ({ columns }) => columns.status,
    cell: ({ status = '' }) => ({ text: status, tone: toneOf(status) }),
  },
  { name: 'observedAt', title: ({ columns }) => columns.observed, cell: observedCell, drop: 3 },
  { name: 'notVerifiedSince' },
  {
    title: ({ columns }) => columns.difference,
    cell: ({ differences = [] }, { texts }) => differenceTexts({ differences }, texts).join('; '),
    ifAny: ({ differences = [] }) => differences.length > 0,
  },
  { title: ({ columns }) => columns.provider, cell: providerCell, drop: 1 },
  {
    name: 'instanceName',
    title: ({ columns }) => columns.vm,
    cell: ({ instanceName, instanceId = '' }, options) => nameText(instanceName, instanceId, options),
    wide: true,
  },
  { name: 'subnetName' },
  { name: 'providerName' },
]

/** A narrow terminal does without the provider, the kind, and the value, which the user has typed. */
export const holderColumns: Column<HoldersAnswer['holders'][number]>[] = [
  { name: 'kind', title: ({ columns }) => columns.kind, drop: 2 },
  { name: 'value', title: ({ columns }) => columns.value, cell: strongValue, drop: 3 },
  { name: 'providerId' },
  { name: 'nodeName', title: ({ columns }) => columns.node },
  { name: 'interface', title: ({ columns }) => columns.interface },
  { name: 'from', title: ({ columns }) => columns.from },
  { name: 'to', title: ({ columns }) => columns.to, cell: ({ to }, { texts }) => to ?? texts.now },
  { name: 'providerName', title: ({ columns }) => columns.provider, cell: providerCell, drop: 1 },
]

function strongValue({ value }: { value: string }): Cell {
  return { text: value, tone: 'strong' }
}

function providerCell(row: { providerId: string; providerName?: string | undefined }, options: RenderOptions): Cell {
  return nameText(row.providerName, row.providerId, options)
}

/** What the list leaves out. */
export function holderLimits({ holders, keptSince, more }: HoldersAnswer, texts: Messages): string[] {
  return [
    ...(more ? [texts.moreHolders(holders.length)] : []),
    ...(keptSince ? [texts.holdersKeptSince(keptSince)] : []),
  ]
}

export const deviationColumns: Column<CheckedNic>[] = [
  { name: 'providerId' },
  { name: 'nodeName', title: ({ columns }) => columns.node },
  { name: 'interface', title: ({ columns }) => columns.interface },
  { name: 'portId' },
  {
    name: 'status',
    title: ({ columns }) => columns.status,
    cell: ({ status = 'Pending' }) => ({ text: status, tone: toneOf(status) }),
  },
  { name: 'reason', title: ({ columns }) => columns.reason },
  {
    name: 'differences',
    value: (deviation, texts) => differenceTexts(deviation, texts).join('; '),
    title: ({ columns }) => columns.difference,
    cell: whatIsWrong,
  },
  { name: 'pending', value: ({ pending }) => pending?.reason },
  { name: 'delivered' },
  { name: 'observedAt', title: ({ columns }) => columns.observed, cell: observedCell, drop: 1 },
  { name: 'notVerifiedSince' },
  { title: ({ columns }) => columns.port, cell: ({ portId }) => portId, wide: true },
  { name: 'providerName', title: ({ columns }) => columns.provider, cell: providerCell, wide: true },
]

function whatIsWrong(deviation: CheckedNic, options: RenderOptions): string {
  const { texts, language } = options
  const { status = 'Pending', reason = '' } = deviation
  const compared = deviation.delivered ? comparisonLines(deviation, options).join('; ') : texts.notDelivered
  return compared || (status === 'Configured' ? '' : (reasonText(reason, language)?.meaning ?? texts.notReported))
}

export function deviationLines(deviations: readonly CheckedNic[], options: RenderOptions): string[] {
  return [...tableOf(deviations, deviationColumns, options), ...remediesOf(deviations, options)]
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

const shortAudit = ['at', 'action', 'object', 'caller', 'proof', 'outcome']

export const auditColumns: Column<AuditEntry>[] = auditFields.map(name => ({
  ...{ name, title: name },
  wide: !shortAudit.includes(name),
}))
