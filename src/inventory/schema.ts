/**
 * The tables, as types. `docs/reference/inventory-schema.md` draws them; `migrations/` makes them.
 *
 * One schema for SQLite and PostgreSQL: documents as JSON text, times as UTC text of one width (so that text order is
 * time order), numbers of history from our own sequence (so that number order is commit order).
 */
export interface ProviderRow {
  provider_id: string
  first_seen_at: string
}

/** A node as it is: the two documents are the truth, `interfaces` and `addresses` are made of them for search. */
export interface NodeRow {
  provider_id: string
  node_name: string
  instance_id: string
  config: string
  config_hash: string
  /** State of each interface, with its stages. */
  statuses: string | null
  state: string | null
  reason: string | null
  message: string | null
  interface_count: number
  updated_at: string
}

export interface InterfaceRow {
  provider_id: string
  node_name: string
  /** Number of the interface, 0 to 9. */
  number: number
  mac: string
  port_id: string | null
  network_id: string | null
  subnet_id: string | null
  source: string | null
}

export interface AddressRow {
  provider_id: string
  node_name: string
  number: number
  /** In canonical form, without prefix length. */
  address: string
}

/** Each time another config was delivered to a node. */
export interface DeliveryRow {
  id: number
  provider_id: string
  node_name: string
  config_hash: string
  at: string
}

/** What happened to one interface: it passed a stage, or its state changed. */
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
  /** The record since then; none after a removal. What was before is in the entry before. */
  after: string | null
}

export interface SequenceRow {
  name: string
  value: number
}

/** Things that are done once, and when. */
export interface MilestoneRow {
  name: string
  at: string
}

export interface Tables {
  providers: ProviderRow
  nodes: NodeRow
  interfaces: InterfaceRow
  addresses: AddressRow
  deliveries: DeliveryRow
  events: EventRow
  history: HistoryRow
  sequences: SequenceRow
  milestones: MilestoneRow
}
