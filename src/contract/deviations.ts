/**
 * Compares each interface of a node: what was requested, whether the newest request is applied, and what was observed. Pure.
 */
import { canonical } from './address.ts'
import { addressesOf, type CompleteWireInterface } from './interfaces.ts'
import type { Deviation, InventoryRecord } from './inventory.ts'
import { reasonText } from './reasons/catalogue.ts'

export type InterfaceRecord = NonNullable<InventoryRecord['interfaces']>[number]

export interface Comparison {
  requested: CompleteWireInterface
  /** Undefined if nothing was reported about the interface. */
  state?: InterfaceRecord
  differences: Deviation['differences']
  /** The last observation is about the newest request, and equals it. */
  matches: boolean
}

/** The inventory completes every interface before it stores it. */
export function comparisonsOf({ config, interfaces }: InventoryRecord): Comparison[] {
  return (config.interfaces as CompleteWireInterface[]).map(requested => {
    const state = interfaces?.find(
      one =>
        (requested.portId !== undefined && one.portId === requested.portId) || one.macAddress === requested.macAddress,
    )
    const differences = state?.observed ? differencesOf(requested, state.observed) : []
    const matches = state?.status === 'Configured' && !state.pending && differences.length === 0
    return { requested, ...(state && { state }), differences, matches }
  })
}

export function deviationsOf(record: InventoryRecord): Deviation[] {
  return comparisonsOf(record)
    .filter(({ matches }) => !matches)
    .map(comparison => deviationOf(record, comparison))
}

export function deviationOf(
  { providerId, nodeName }: InventoryRecord,
  { requested, state, differences }: Comparison,
): Deviation {
  const { status = 'Pending', reason, pending, lastChecked, lastConfigured, checkIntervalSeconds } = state ?? {}
  const remedy = reason === undefined ? undefined : reasonText(reason)?.remedy
  return {
    providerId,
    nodeName,
    interface: requested.name,
    ...(requested.portId && { portId: requested.portId }),
    status,
    ...(reason && { reason }),
    ...(remedy && { remedy }),
    differences,
    ...(pending && { pending }),
    ...(lastChecked && { lastChecked }),
    ...(lastConfigured && { lastConfigured }),
    ...(checkIntervalSeconds && { checkIntervalSeconds }),
  }
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
