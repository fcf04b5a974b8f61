/**
 * Where a node is not as it was asked for: wanted, delivered and observed side by side. Pure.
 */
import { canonical } from '../contract/address.ts'
import { addressesOf, type CompleteWireInterface } from '../contract/interfaces.ts'
import type { Deviation, InventoryRecord } from '../contract/inventory.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import type { InterfaceRecord } from './plan.ts'
import { completed } from './rows.ts'

export function deviationsOf(record: InventoryRecord): Deviation[] {
  const { providerId, nodeName } = record
  return completed(record.config).flatMap(wanted => {
    const state = record.interfaces?.find(
      one => (wanted.portId !== undefined && one.portId === wanted.portId) || one.macAddress === wanted.macAddress,
    )
    const differences = state?.observed ? differencesOf(wanted, state.observed) : []
    if (state?.status === 'Configured' && differences.length === 0) return []
    const remedy = state?.reason === undefined ? undefined : reasonText(state.reason)?.remedy
    return [
      {
        providerId,
        nodeName,
        interface: wanted.name,
        ...(wanted.portId ? { portId: wanted.portId } : {}),
        status: state?.status ?? ('Pending' as const),
        ...(state?.reason ? { reason: state.reason } : {}),
        ...(remedy ? { remedy } : {}),
        differences,
      },
    ]
  })
}

function differencesOf(
  wanted: CompleteWireInterface,
  observed: NonNullable<InterfaceRecord['observed']>,
): Deviation['differences'] {
  const different = (field: string, want: string | undefined, is: string | undefined) =>
    want === undefined || is === undefined || want === is ? [] : [{ field, wanted: want, observed: is }]
  const present = new Set((observed.addresses ?? []).map(text => canonical(text) ?? text))
  const missing = observed.addresses ? addressesOf(wanted).filter(address => !present.has(address)) : []
  return [
    ...different('name', wanted.name, observed.name),
    ...different('mtu', wanted.mtu?.toString(), observed.mtu?.toString()),
    ...different('link', 'up', observed.link),
    ...missing.map(address => ({ field: 'address', wanted: address, observed: [...present].join(' ') })),
  ]
}
