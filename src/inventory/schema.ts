/**
 * Types of the tables. `migrations/` creates them, and `docs/reference/inventory-schema.md` shows them.
 *
 * SQLite and PostgreSQL share the schema: documents are JSON text; times are UTC text of fixed width, so that text order is
 * time order; IDs come from the `sequences` table, so that ID order is commit order.
 */
import type { AuditEntry } from '../contract/audit.ts'
import type { VerdictKind } from '../contract/verdict-kind.ts'

export interface ProviderRow {
  provider_id: string
  first_seen_at: string
}

/** Current state of a node. `config` and `statuses` are the source; `interfaces` and `addresses` are derived for search. */
export interface NodeRow {
  provider_id: string
  node_name: string
  instance_id: string
  instance_name: string | null
  provider_name: string | null
  config: string
  config_hash: string
  /** JSON: state of each interface, with its stages. */
  statuses: string | null
  state: string | null
  reason: string | null
  message: string | null
  /** JSON. */
  agent_rollout: string | null
  interface_count: number
  updated_at: string
}

export interface InterfaceRow {
  provider_id: string
  node_name: string
  /** Index of the interface, 0 to 9. */
  number: number
  mac: string
  port_id: string | null
  network_id: string | null
  subnet_id: string | null
  source: string | null
  subnet_name: string | null
  network_name: string | null
}

export interface AddressRow {
  provider_id: string
  node_name: string
  number: number
  /** Canonical form, without prefix length. */
  address: string
}

/** An interface had this identity in this time. Outlives its node: the index of `holders`. */
export interface HoldingRow {
  provider_id: string
  node_name: string
  number: number
  mac: string
  port_id: string | null
  /** Canonical form, without prefix length; null for an interface without addresses. One row for each address. */
  address: string | null
  since: string
  /** Null while the interface has it. */
  until: string | null
}

/** Delivery of a changed config to a node. */
export interface DeliveryRow {
  id: number
  provider_id: string
  node_name: string
  config_hash: string
  at: string
}

/** An interface reached a stage or changed its state. */
export interface EventRow {
  id: number
  provider_id: string
  node_name: string
  mac: string
  port_id: string | null
  /** `stage/verified`, `status/Failed`, … */
  what: string
  reason: string | null
  at: string
}

export interface HistoryRow {
  id: number
  provider_id: string
  node_name: string
  at: string
  what: 'created' | 'config' | 'status' | 'removed'
  why: string
  /** JSON: the record after the change; null after a removal. The previous entry has the record before it. */
  after: string | null
}

/** An OpenstackConfig whose verdicts the operator wrote. */
export interface OpenstackConfigRow {
  provider_id: string
  /** namespace/name. */
  config: string
  /** When its verdicts changed. */
  updated_at: string
  /** JSON. */
  plan: string | null
  planned_at: string | null
}

/** The verdict of the last sync of an OpenstackConfig on a port or VM. */
export interface VerdictRow {
  provider_id: string
  config: string
  vm: string
  /** Empty for a verdict on the VM itself. */
  port_id: string
  reason: string
  kind: VerdictKind
  message: string
  vm_name: string | null
  /** Name of the interface. */
  name: string | null
  /** JSON. */
  port_security: string | null
}

/** A request, and who made it. */
export interface AuditRow {
  id: number
  at: string
  action: AuditEntry['action']
  /** namespace/name of an OpenstackConfig, the name of a node, or the ID of a provider. */
  object: string
  provider_id: string
  caller: string
  /** How the name of the caller is known. */
  proof: AuditEntry['proof']
  source: AuditEntry['source']
  outcome: string
  /** The component, or the caller of the inventory, that sent the entry. */
  recorded_by: string
}

export interface SequenceRow {
  name: string
  value: number
}

/** One-time actions and when they ran. */
export interface MilestoneRow {
  name: string
  at: string
}

export interface Tables {
  providers: ProviderRow
  nodes: NodeRow
  interfaces: InterfaceRow
  addresses: AddressRow
  holdings: HoldingRow
  deliveries: DeliveryRow
  events: EventRow
  history: HistoryRow
  openstack_configs: OpenstackConfigRow
  verdicts: VerdictRow
  audit: AuditRow
  sequences: SequenceRow
  milestones: MilestoneRow
}
