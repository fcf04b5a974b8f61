/**
 * The CSV of `status`, `why` and `history`, whose text is no table: one row per NIC, verdict or change. Pure.
 */
import { type HistoryEntry, stages } from '../../contract/inventory.ts'
import { verdictKind } from '../../contract/operator-api.ts'
import { en } from '../messages/en.ts'
import type { NicView, ProviderView } from '../status.ts'
import type { Why } from '../why.ts'
import { changesOf } from './history-text.ts'
import type { Column } from './list.ts'
import { differenceTexts } from './observation.ts'
import { toneOf } from './paint.ts'

type Row = Record<string, string | undefined>

const observed = ['observedAt', 'notVerifiedSince', 'pending', 'differences']
const names = ['instanceName', 'subnetName', 'networkName', 'alias', 'providerName']

/** As a table too: `export` has one. */
export const nicColumns: Column<Row>[] = [
  ...['providerId', 'config', 'nodeName', 'instanceId', 'state', 'interface', 'status', 'reason', 'addresses', 'mtu'],
  ...['macAddress', 'portId', 'link', 'updatedAt', ...observed, ...names],
].map(name => ({
  ...{ name, title: name.toUpperCase() },
  ...(['status', 'state'].includes(name) && { cell: row => ({ text: row[name] ?? '', tone: toneOf(row[name]) }) }),
}))

export function nicRows(providers: readonly ProviderView[]): Row[] {
  return providers.flatMap(({ providerId, providerName, configs }) =>
    configs.flatMap(({ name: config, nodes }) =>
      nodes.flatMap(({ interfaces, reason, message: _, remedy: __, ...rest }): Row[] => {
        const node = { providerId, providerName, config, ...rest }
        return interfaces.length === 0 ? [{ ...node, reason }] : interfaces.map(nic => ({ ...node, ...nicRow(nic) }))
      }),
    ),
  )
}

function nicRow({ name, addresses, mtu, pending, differences, ...nic }: NicView): Row {
  return {
    ...nic,
    interface: name,
    addresses: addresses.join(' '),
    mtu: mtu?.toString(),
    pending: pending?.reason,
    differences: differenceTexts({ differences }, en).join('; '),
  }
}

export const whyColumns: Column<Row>[] = [
  ...['providerId', 'nodeName', 'instanceId', 'config', 'portId', 'interface', 'status', 'reason', 'message', 'remedy'],
  ...['waitsFor', ...stages, 'clamped', ...observed, ...names],
].map(name => ({ name }))

export function whyRows({ nodes, verdicts }: Why): Row[] {
  const ofNodes = nodes.flatMap(({ interfaces, state, reason, message, remedy, ...node }): Row[] => {
    if (interfaces.length === 0) return [{ ...node, status: state, reason, message, remedy }]
    return interfaces.map(({ stages: passed, clamped, ...nic }) => ({
      ...node,
      ...nicRow(nic),
      ...passed,
      clamped: clamped?.join(' '),
    }))
  })
  const ofVerdicts = verdicts.map(
    ({ vm, vmName, name, reason, portSecurity: _, ...rest }): Row => ({
      ...rest,
      reason,
      instanceId: vm,
      instanceName: vmName,
      interface: name,
      status: verdictKind(reason) === 'notManaged' ? 'not managed' : verdictKind(reason),
    }),
  )
  return [...ofNodes, ...ofVerdicts]
}

export const historyColumns: Column<Row>[] = [
  ...['id', 'at', 'providerId', 'nodeName', 'what', 'why', 'change', 'providerName'],
].map(name => ({ name }))

export function historyRows(entries: readonly HistoryEntry[]): Row[] {
  return entries.flatMap(({ id, at, what, why, before, after }): Row[] => {
    const { providerId, providerName, nodeName } = after ?? before ?? {}
    const entry = { id: String(id), at, providerId, providerName, nodeName, what, why }
    const changes = changesOf(before, after)
    return changes.length === 0 ? [entry] : changes.map(change => ({ ...entry, change }))
  })
}
