/**
 * Compares each interface of a node: what was requested, whether the newest request is applied, and what was observed. Pure.
 */
import { canonical } from './address.ts'
import { addressesOf, type CompleteWireInterface } from './interfaces.ts'
import type { Deviation, InventoryRecord } from './inventory.ts'
import { reasonText } from './reasons/catalogue.ts'

export type InterfaceRecord = NonNullable<InventoryRecord['interfaces']>[number]

export interface Comparison {
  /** As delivered, or as requested if it is not delivered. */
  requested: CompleteWireInterface
  /** Undefined if nothing was reported about the interface. */
  state?: InterfaceRecord
  differences: Deviation['differences']
  /** The last observation is about the newest request, and equals it. */
  matches: boolean
}

/** The inventory completes every interface before it stores it. */
export function comparisonsOf({ config, interfaces }: InventoryRecord): Comparison[] {
  const newest = config.requested as CompleteWireInterface[] | undefined
  const delivered = config.interfaces as CompleteWireInterface[]
  const undelivered = (newest ?? []).filter(nic => !delivered.some(one => isSamePort(one, nic)))
  const compared = delivered.map(requested => {
    const state = interfaces?.find(
      one =>
        (requested.portId !== undefined && one.portId === requested.portId) || one.macAddress === requested.macAddress,
    )
    const wanted = newest?.find(nic => isSamePort(nic, requested))
    const differences = [
      ...(newest ? deliveryDifferences(wanted, requested) : []),
      ...(state?.observed ? differencesOf(requested, state.observed) : []),
    ]
    const matches = state?.status === 'Configured' && !state.pending && differences.length === 0
    return { requested, ...(state && { state }), differences, matches }
  })
  return [
    ...compared,
    ...undelivered.map(nic => ({ requested: nic, differences: deliveryDifferences(nic, undefined), matches: false })),
  ]
}

function isSamePort(a: CompleteWireInterface, b: CompleteWireInterface): boolean {
  return a.portId === undefined ? a.macAddress === b.macAddress : a.portId === b.portId
}

/** Fields whose newest request is not delivered. Both are empty where the whole interface is missing. */
function deliveryDifferences(
  wanted: CompleteWireInterface | undefined,
  delivered: CompleteWireInterface | undefined,
): Deviation['differences'] {
  const fields: [field: string, of: (nic: CompleteWireInterface) => string][] = [
    ['interface', nic => nic.name],
    ['mtu', nic => nic.mtu?.toString() ?? ''],
    ['address', nic => addressesOf(nic).join(' ')],
    ['gateway', nic => nic.gateway ?? ''],
  ]
  const shown = wanted && delivered ? fields : fields.slice(0, 1)
  return shown
    .map(([field, of]) => ({ field, wanted: wanted ? of(wanted) : '', delivered: delivered ? of(delivered) : '' }))
    .filter(each => each.wanted !== each.delivered)
    .map(each => ({ ...each, observed: each.delivered }))
}

export function deviationsOf(record: InventoryRecord): Deviation[] {
  return comparisonsOf(record)
    .filter(({ matches }) => !matches)
    .map(comparison => deviationOf(record, comparison))
}

export function deviationOf(
  { providerId, providerName, nodeName }: InventoryRecord,
  { requested, state, differences }: Comparison,
): Deviation {
  const { status = 'Pending', reason, pending, lastChecked, lastConfigured, checkIntervalSeconds } = state ?? {}
  const remedy = reason === undefined ? undefined : reasonText(reason)?.remedy
  return {
    providerId,
    ...(providerName !== undefined && { providerName }),
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
