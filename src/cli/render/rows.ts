/**
 * Results as rows for spreadsheets, column names first: one row per NIC, change or verdict. Pure.
 */
import { type HistoryEntry, stages } from '../../contract/inventory.ts'
import { verdictKind } from '../../contract/operator-api.ts'
import { en } from '../messages/en.ts'
import type { ProviderView } from '../status.ts'
import type { Why } from '../why.ts'
import { changesOf } from './history-text.ts'
import { differenceTexts } from './observation.ts'
import { type Paint, toneOf } from './paint.ts'
import { table } from './table.ts'

type Row = Record<string, string | undefined>

/** A missing value is an empty cell. */
function rows(columns: readonly string[], of: readonly Row[]): (string | undefined)[][] {
  return [[...columns], ...of.map(row => columns.map(column => row[column]))]
}

const nicColumns = [
  'providerId',
  'config',
  'nodeName',
  'instanceId',
  'state',
  'interface',
  'status',
  'reason',
  'addresses',
  'mtu',
  'macAddress',
  'portId',
  'link',
  'updatedAt',
  'observedAt',
  'notVerifiedSince',
  'pending',
  'differences',
  'instanceName',
  'subnetName',
  'networkName',
  'alias',
  'providerName',
]

export function statusRows(providers: readonly ProviderView[]): (string | undefined)[][] {
  return rows(nicColumns, nicsIn(providers))
}

/** One line per NIC with all of its fields. */
export function nicTable(providers: readonly ProviderView[], paint: Paint): string[] {
  const lines = nicsIn(providers).map(nic =>
    nicColumns.map(column =>
      column === 'status' || column === 'state' ? { text: nic[column] ?? '', tone: toneOf(nic[column]) } : nic[column],
    ),
  )
  return table(
    nicColumns.map(column => column.toUpperCase()),
    lines,
    paint,
  )
}

function nicsIn(providers: readonly ProviderView[]): Row[] {
  return providers.flatMap(({ providerId, providerName, configs }) =>
    configs.flatMap(({ name: config, nodes }) =>
      nodes.flatMap(({ nodeName, instanceId, instanceName, state, reason, updatedAt, interfaces }): Row[] => {
        const node = { providerId, providerName, config, nodeName, instanceId, instanceName, state, updatedAt }
        if (interfaces.length === 0) return [{ ...node, reason }]
        return interfaces.map(({ name, addresses, mtu, pending, differences, ...nic }) => ({
          ...node,
          ...nic,
          interface: name,
          addresses: addresses.join(' '),
          mtu: mtu?.toString(),
          pending: pending?.reason,
          differences: differenceTexts({ differences }, en).join('; '),
        }))
      }),
    ),
  )
}

const whyColumns = [
  'providerId',
  'nodeName',
  'instanceId',
  'config',
  'portId',
  'interface',
  'status',
  'reason',
  'message',
  'remedy',
  'waitsFor',
  ...stages,
  'clamped',
  'observedAt',
  'notVerifiedSince',
  'pending',
  'differences',
  'instanceName',
  'subnetName',
  'networkName',
  'alias',
  'providerName',
]

export function whyRows({ nodes, verdicts }: Why): (string | undefined)[][] {
  const ofNodes = nodes.flatMap(
    ({ providerId, providerName, nodeName, instanceId, instanceName, interfaces, state, ...rest }): Row[] => {
      const node = { providerId, providerName, nodeName, instanceId, instanceName }
      if (interfaces.length === 0) return [{ ...node, status: state, ...rest }]
      return interfaces.map(
        ({ name, addresses: _, mtu: __, stages: passed, clamped, pending, differences, ...nic }) => ({
          ...node,
          ...nic,
          interface: name,
          ...passed,
          clamped: clamped?.join(' '),
          pending: pending?.reason,
          differences: differenceTexts({ differences }, en).join('; '),
        }),
      )
    },
  )
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
  return rows(whyColumns, [...ofNodes, ...ofVerdicts])
}

export function historyRows(entries: readonly HistoryEntry[]): (string | undefined)[][] {
  const lines = entries.flatMap(({ id, at, what, why, before, after }): Row[] => {
    const { providerId, providerName, nodeName } = after ?? before ?? {}
    const entry = { id: String(id), at, providerId, providerName, nodeName, what, why }
    const changes = changesOf(before, after)
    return changes.length === 0 ? [entry] : changes.map(change => ({ ...entry, change }))
  })
  return rows(['id', 'at', 'providerId', 'nodeName', 'what', 'why', 'change', 'providerName'], lines)
}
