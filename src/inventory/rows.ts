/**
 * Converts between records and database rows.
 */
import { formatIp, parseCidr } from '../contract/address.ts'
import type { InterfaceRecord } from '../contract/deviations.ts'
import { addressesOf, type CompleteWireInterface } from '../contract/interfaces.ts'
import type { HistoryEntry, InventoryRecord } from '../contract/inventory.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import type { AddressRow, HistoryRow, HoldingRow, InterfaceRow, NodeRow } from './schema.ts'

export function nodeRow(record: InventoryRecord): NodeRow {
  return {
    provider_id: record.providerId,
    node_name: record.nodeName,
    instance_id: record.instanceId,
    instance_name: record.instanceName ?? null,
    provider_name: record.providerName ?? null,
    config: JSON.stringify(record.config),
    config_hash: record.lastConfigHash,
    statuses: record.interfaces ? JSON.stringify(record.interfaces) : null,
    state: record.state ?? null,
    reason: record.reason ?? null,
    message: record.message ?? null,
    agent_rollout: record.agentRollout ? JSON.stringify(record.agentRollout) : null,
    interface_count: record.config.interfaces.length,
    updated_at: record.updatedAt,
  }
}

export function recordFrom(row: NodeRow): InventoryRecord {
  return {
    providerId: row.provider_id,
    ...(row.provider_name ? { providerName: row.provider_name } : {}),
    nodeName: row.node_name,
    instanceId: row.instance_id,
    ...(row.instance_name ? { instanceName: row.instance_name } : {}),
    config: JSON.parse(row.config),
    lastConfigHash: row.config_hash,
    updatedAt: row.updated_at,
    ...(row.state ? { state: row.state as NonNullable<InventoryRecord['state']> } : {}),
    ...(row.reason ? { reason: row.reason } : {}),
    ...(row.message ? { message: row.message } : {}),
    ...(row.agent_rollout ? { agentRollout: JSON.parse(row.agent_rollout) } : {}),
    ...(row.statuses ? { interfaces: JSON.parse(row.statuses) } : {}),
  }
}

/** Adds the remedies of the reasons on read, so that stored records show the texts of the current catalogue. */
export function withRemedies(record: InventoryRecord): InventoryRecord {
  const { reason, interfaces } = record
  return {
    ...record,
    ...remedyOf(reason),
    ...(interfaces ? { interfaces: interfaces.map(withRemedy) } : {}),
  }
}

function withRemedy(nic: InterfaceRecord): InterfaceRecord {
  const { reason, pending } = nic
  return {
    ...nic,
    ...remedyOf(reason),
    ...(pending && { pending: { ...pending, ...remedyOf(pending.reason) } }),
  }
}

function remedyOf(reason: string | undefined): { remedy?: string } {
  const text = reason === undefined ? undefined : reasonText(reason)
  return text ? { remedy: text.remedy } : {}
}

/** Stored interfaces are complete: plan.ts completes every write. */
export function storedInterfaces(config: InventoryRecord['config']): CompleteWireInterface[] {
  return config.interfaces as CompleteWireInterface[]
}

export function interfaceRows({ providerId, nodeName, config }: InventoryRecord): InterfaceRow[] {
  return storedInterfaces(config).map(nic => ({
    provider_id: providerId,
    node_name: nodeName,
    number: nic.id,
    mac: nic.macAddress,
    port_id: nic.portId ?? null,
    network_id: nic.networkId ?? null,
    subnet_id: nic.subnetId ?? null,
    source: nic.source ?? null,
    subnet_name: nic.subnetName ?? null,
    network_name: nic.networkName ?? null,
  }))
}

export function addressRows({ providerId, nodeName, config }: InventoryRecord): AddressRow[] {
  return storedInterfaces(config).flatMap(nic =>
    bareAddresses(nic).map(address => ({ provider_id: providerId, node_name: nodeName, number: nic.id, address })),
  )
}

export type Holding = Omit<HoldingRow, 'since' | 'until'>

/** By key: what each interface of the record holds. */
export function holdingsOf(record: InventoryRecord | undefined): Map<string, Holding> {
  if (!record) return new Map()
  const { providerId, nodeName, config } = record
  const rows = storedInterfaces(config).flatMap((nic): Holding[] => {
    const addresses = bareAddresses(nic)
    return (addresses.length > 0 ? addresses : [null]).map(address => ({
      provider_id: providerId,
      node_name: nodeName,
      number: nic.id,
      mac: nic.macAddress,
      port_id: nic.portId ?? null,
      address,
    }))
  })
  return new Map(rows.map(row => [JSON.stringify(Object.values(row)), row]))
}

function bareAddresses(nic: CompleteWireInterface): string[] {
  return [...new Set(addressesOf(nic).flatMap(text => withoutPrefixLength(text) ?? []))]
}

/** `addressesOf` returns canonical text: an IPv4 address needs no parsing. */
function withoutPrefixLength(text: string): string | undefined {
  if (/^[\d.]+\/\d+$/.test(text)) return text.slice(0, text.indexOf('/'))
  const cidr = parseCidr(text)
  return cidr && formatIp(cidr.address)
}

export function entryFrom(row: HistoryRow & { before: string | null }): HistoryEntry {
  return {
    id: Number(row.id),
    at: row.at,
    what: row.what,
    why: row.why,
    ...(row.before ? { before: JSON.parse(row.before) } : {}),
    ...(row.after ? { after: withRemedies(JSON.parse(row.after)) } : {}),
  }
}
