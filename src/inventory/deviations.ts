/**
 * Interfaces of a node whose observed state differs from the request. Pure.
 */
import { canonical } from '../contract/address.ts'
import { addressesOf, type CompleteWireInterface } from '../contract/interfaces.ts'
import type { Deviation, InventoryRecord } from '../contract/inventory.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import type { InterfaceRecord } from './plan.ts'
import { storedInterfaces } from './rows.ts'

export function deviationsOf(record: InventoryRecord): Deviation[] {
  const { providerId, nodeName } = record
  return storedInterfaces(record.config).flatMap(requested => {
    const state = record.interfaces?.find(
      one =>
        (requested.portId !== undefined && one.portId === requested.portId) || one.macAddress === requested.macAddress,
    )
    const differences = state?.observed ? differencesOf(requested, state.observed) : []
    if (state?.status === 'Configured' && differences.length === 0) return []
    const remedy = state?.reason === undefined ? undefined : reasonText(state.reason)?.remedy
    return [
      {
        providerId,
        nodeName,
        interface: requested.name,
        ...(requested.portId ? { portId: requested.portId } : {}),
        status: state?.status ?? ('Pending' as const),
        ...(state?.reason ? { reason: state.reason } : {}),
        ...(remedy ? { remedy } : {}),
        differences,
      },
    ]
  })
}

function differencesOf(
  requested: CompleteWireInterface,
  observed: NonNullable<InterfaceRecord['observed']>,
): Deviation['differences'] {
  const different = (field: string, wanted: string | undefined, found: string | undefined) =>
    wanted === undefined || found === undefined || wanted === found ? [] : [{ field, wanted, observed: found }]
  const present = new Set((observed.addresses ?? []).map(text => canonical(text) ?? text))
  const missing = observed.addresses ? addressesOf(requested).filter(address => !present.has(address)) : []
  return [
    ...different('name', requested.name, observed.name),
    ...different('mtu', requested.mtu?.toString(), observed.mtu?.toString()),
    ...different('link', 'up', observed.link),
    ...missing.map(address => ({ field: 'address', wanted: address, observed: [...present].join(' ') })),
  ]
}
