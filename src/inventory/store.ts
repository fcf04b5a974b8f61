/**
 * What every node was given and has, with its history. Only differences are written; each becomes a line of history.
 */
import type { Selectable } from 'kysely'
import type { HistoryEntry, InventoryRecord, InventoryWrite, ProviderCatalog } from '../contract/inventory.ts'
import type { Log } from '../log.ts'
import { type Database, openDatabase } from './database.ts'
import { importOldFile, pathsFrom } from './import.ts'
import { entryFrom, recordFrom } from './rows.ts'
import type { NodeRow } from './schema.ts'
import { matching, prefixOf } from './search.ts'
import { putChunk } from './write.ts'

export interface Filter {
  providerId?: string
  nodeName?: string
  instanceId?: string
  /** The beginning of an IP or MAC address, a port id, a VM id, a node's or provider's name. */
  q?: string
  limit?: number
  /** The last record of the page before. */
  after?: { providerId: string; nodeName: string }
}

export interface HistoryFilter {
  providerId?: string
  nodeName?: string
  /** Older than this number; newest first. */
  before?: number
  /** Newer than this number; oldest first. */
  after?: number
  limit?: number
}

export interface Store {
  put(writes: readonly InventoryWrite[]): Promise<void>
  list(filter?: Filter): Promise<InventoryRecord[]>
  get(providerId: string, nodeName: string): Promise<InventoryRecord | undefined>
  history(filter?: HistoryFilter): Promise<HistoryEntry[]>
  /** What was known at that time. */
  at(time: string, filter?: Filter): Promise<InventoryRecord[]>
  providers(): Promise<ProviderCatalog>
  /** Providers that have, or had, a node of this name. */
  providersOf(nodeName: string): Promise<string[]>
  close(): Promise<void>
}

export interface StoreOptions {
  /** A path that ends in .json names the file of older versions; the database is beside it. */
  path: string
  log: Log
  now?: () => Date
}

/** Nodes a transaction: SQLite works in our thread, and readers are let in between. */
const chunkSize = 200

export async function openStore({ path, log, now = () => new Date() }: StoreOptions): Promise<Store> {
  const paths = pathsFrom(path)
  const db = await openDatabase(paths.database, log, now)
  const store = storeOver(db, now)
  await importOldFile({ db, put: store.putAs, oldFile: paths.oldFile, log, now })
  return store
}

type Put = (writes: readonly InventoryWrite[], at?: (write: InventoryWrite) => string | undefined) => Promise<void>

function storeOver(db: Database, now: () => Date): Store & { putAs: Put } {
  async function put(writes: readonly InventoryWrite[], timeOf: Parameters<Put>[1]): Promise<void> {
    for (let start = 0; start < writes.length; start += chunkSize) {
      const chunk = writes.slice(start, start + chunkSize)
      await db.transaction().execute(tx => putChunk(tx, chunk, write => timeOf?.(write) ?? now().toISOString()))
    }
  }

  return {
    put: writes => put(writes, undefined),
    putAs: put,

    async list(filter = {}) {
      return (await listRows(db, filter)).map(recordFrom)
    },

    async get(providerId, nodeName) {
      const row = await db
        .selectFrom('nodes')
        .selectAll()
        .where('provider_id', '=', providerId)
        .where('node_name', '=', nodeName)
        .executeTakeFirst()
      return row && recordFrom(row)
    },

    async history({ providerId, nodeName, before, after, limit = 100 } = {}) {
      let query = db
        .selectFrom('history')
        .selectAll()
        .orderBy('id', after === undefined ? 'desc' : 'asc')
        .limit(limit)
      if (providerId !== undefined) query = query.where('provider_id', '=', providerId)
      if (nodeName !== undefined) query = query.where('node_name', '=', nodeName)
      if (before !== undefined) query = query.where('id', '<', before)
      if (after !== undefined) query = query.where('id', '>', after)
      return (await query.execute()).map(entryFrom)
    },

    async at(time, filter = {}) {
      const newest = db
        .selectFrom('history')
        .select(({ fn }) => fn.max('id').as('newest'))
        .where('at', '<=', new Date(time).toISOString())
        .groupBy(['provider_id', 'node_name'])
      let query = db.selectFrom('history').select('after').where('after', 'is not', null)
      query = query.where('id', 'in', newest).orderBy('provider_id').orderBy('node_name')
      if (filter.providerId !== undefined) query = query.where('provider_id', '=', filter.providerId)
      if (filter.nodeName !== undefined) query = query.where('node_name', '=', filter.nodeName)
      const records: InventoryRecord[] = (await query.execute()).map(({ after }) => JSON.parse(after ?? 'null'))
      return records.filter(record => matching(record, filter)).slice(0, filter.limit)
    },

    async providers() {
      const rows = await db
        .selectFrom('nodes')
        .select(['provider_id', 'node_name', 'instance_id', 'interface_count', 'updated_at'])
        .orderBy('provider_id')
        .orderBy('node_name')
        .execute()
      return catalogOf(rows)
    },

    async providersOf(nodeName) {
      const rows = await db
        .selectFrom('history')
        .select('provider_id')
        .distinct()
        .where('node_name', '=', nodeName)
        .orderBy('provider_id')
        .execute()
      return rows.map(row => row.provider_id)
    },

    close: () => db.destroy(),
  }
}

async function listRows(db: Database, filter: Filter): Promise<Selectable<NodeRow>[]> {
  const { providerId, nodeName, instanceId, q, limit, after } = filter
  let query = db.selectFrom('nodes').selectAll().orderBy('provider_id').orderBy('node_name')
  if (providerId !== undefined) query = query.where('provider_id', '=', providerId)
  if (nodeName !== undefined) query = query.where('node_name', '=', nodeName)
  if (instanceId !== undefined) query = query.where('instance_id', '=', instanceId)
  if (q !== undefined) query = query.where(prefixOf(q))
  if (after !== undefined)
    query = query.where(({ eb, or, and }) =>
      or([
        eb('provider_id', '>', after.providerId),
        and([eb('provider_id', '=', after.providerId), eb('node_name', '>', after.nodeName)]),
      ]),
    )
  if (limit !== undefined) query = query.limit(limit)
  return query.execute()
}

function catalogOf(
  rows: Pick<NodeRow, 'provider_id' | 'node_name' | 'instance_id' | 'interface_count' | 'updated_at'>[],
): ProviderCatalog {
  const byProvider = Map.groupBy(rows, row => row.provider_id)
  const providers = [...byProvider].map(([providerId, nodes]) => ({
    providerId,
    nodeCount: nodes.length,
    updatedAt: nodes.reduce((newest, { updated_at }) => (updated_at > newest ? updated_at : newest), ''),
    nodes: nodes.map(row => ({
      providerId,
      nodeName: row.node_name,
      instanceId: row.instance_id,
      interfaceCount: row.interface_count,
      updatedAt: row.updated_at,
    })),
  }))
  return { providers }
}
