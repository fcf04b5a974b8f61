/**
 * What every node was given and has, with its history. Only differences are written; each becomes a line of history.
 */
import { type Selectable, sql } from 'kysely'
import type {
  HistoryEntry,
  InventoryRecord,
  InventoryWrite,
  ProviderCatalog,
  SearchHit,
} from '../contract/inventory.ts'
import type { Log } from '../telemetry/log.ts'
import type { Database, Engine } from './database.ts'
import { forgetBefore, type HistoryFilter, historyOf, providersOf, recordsAt } from './history.ts'
import { importOldFile, pathsFrom } from './import.ts'
import { prepared } from './prepared.ts'
import { recordFrom } from './rows.ts'
import type { NodeRow } from './schema.ts'
import { find, prefixOf } from './search.ts'
import { openSqlite } from './sqlite.ts'
import { putChunk } from './write.ts'

export interface Filter {
  providerId?: string
  nodeName?: string
  instanceId?: string
  /** Configured, Failed, … A node that nobody has told of yet is Pending. */
  state?: string
  /** With an interface in this network or subnet, or from this OpenstackConfig (namespace/name). */
  networkId?: string
  subnetId?: string
  source?: string
  /** The beginning of an IP or MAC address, a port id, a VM id, a node's or provider's name. */
  q?: string
  limit?: number
  /** The last record of the page before. */
  after?: { providerId: string; nodeName: string }
}

export interface Store {
  put(writes: readonly InventoryWrite[]): Promise<void>
  list(filter?: Filter): Promise<InventoryRecord[]>
  /** The same page by page, now or as it was at a time: ten thousand nodes are never whole in memory. */
  pages(filter?: Filter, at?: string): AsyncGenerator<InventoryRecord[]>
  get(providerId: string, nodeName: string): Promise<InventoryRecord | undefined>
  history(filter?: HistoryFilter): Promise<HistoryEntry[]>
  /** What was known at that time. */
  at(time: string, filter?: Filter): Promise<InventoryRecord[]>
  providers(): Promise<ProviderCatalog>
  /** Single values that begin so, with where they are. */
  find(q: string, limit?: number): Promise<SearchHit[]>
  /** Another text after every change. */
  version(): Promise<string>
  /** Called after every put that changed something. Returns the way to stop. */
  follow(listener: () => void): () => void
  /** Forgets the history before this time. Returns how many entries went. */
  forget(before: string): Promise<number>
  /** Providers that have, or had, a node of this name. */
  providersOf(nodeName: string): Promise<string[]>
  /** Why the store cannot be used now. */
  problem(): string | undefined
  close(): Promise<void>
}

export interface StoreOptions {
  /** A path that ends in .json names the file of older versions; the database is beside it. */
  path: string
  /** A PostgreSQL, instead of a file at `path`. */
  databaseUrl?: string | undefined
  log: Log
  now?: () => Date
}

/** Nodes a transaction: SQLite works in our thread, and readers are let in between. */
const chunkSize = 200
const pageSize = 500

export async function openStore({ path, databaseUrl, log, now = () => new Date() }: StoreOptions): Promise<Store> {
  const paths = pathsFrom(path)
  const importOld = (engine: Engine) =>
    importOldFile({ db: engine.db, put: putter(engine, now), oldFile: paths.oldFile, log, now })
  if (databaseUrl !== undefined) {
    // Loaded by those who use it: the client takes memory that an embedded database does not need.
    const { openPostgres } = await import('./postgres.ts')
    return storeOver(await openPostgres({ url: databaseUrl, log, prepare: importOld }), now)
  }
  const engine = await openSqlite(paths.database, log, now)
  await importOld(engine)
  return storeOver(engine, now)
}

type Put = (writes: readonly InventoryWrite[], timeOf?: (write: InventoryWrite) => string | undefined) => Promise<void>

function putter({ db, beginWrite, announce }: Engine, now: () => Date, onNews = () => {}): Put {
  return async (writes, timeOf) => {
    for (let start = 0; start < writes.length; start += chunkSize) {
      const chunk = writes.slice(start, start + chunkSize)
      const news = await db.transaction().execute(async tx => {
        await beginWrite(tx)
        const changed = await putChunk(tx, chunk, write => timeOf?.(write) ?? now().toISOString())
        if (changed) await announce(tx)
        return changed
      })
      if (news) onNews()
    }
  }
}

function storeOver(engine: Engine, now: () => Date): Store {
  const { db } = engine
  const listeners = new Set<() => void>()
  let known: string | undefined
  const tellAll = () => {
    known = undefined
    for (const listener of listeners) listener()
  }
  engine.onForeignChange(tellAll)
  const put = putter(engine, now, tellAll)

  async function* pages(filter: Filter = {}, at?: string): AsyncGenerator<InventoryRecord[]> {
    let left = filter.limit ?? Number.POSITIVE_INFINITY
    for await (const page of at === undefined ? listed(db, filter) : recordsAt(db, at, filter, pageSize)) {
      yield page.slice(0, left)
      left -= page.length
      if (left <= 0) return
      // Others have their turn: SQLite works in our thread.
      await new Promise(setImmediate)
    }
  }

  return {
    put: writes => put(writes),

    list: filter => gathered(pages(filter)),
    pages,

    async get(providerId, nodeName) {
      const row = await db
        .selectFrom('nodes')
        .selectAll()
        .where('provider_id', '=', providerId)
        .where('node_name', '=', nodeName)
        .executeTakeFirst()
      return row && recordFrom(row)
    },

    history: (filter = {}) => historyOf(db, filter),
    at: (time, filter) => gathered(pages(filter, time)),
    find: (q, limit = 50) => find(engine, q, limit),
    forget: before => forgetBefore(db, before),

    async providers() {
      const rows = await db
        .selectFrom('nodes')
        .select(['provider_id', 'node_name', 'instance_id', 'interface_count', 'updated_at'])
        .orderBy('provider_id')
        .orderBy('node_name')
        .execute()
      return catalogOf(rows)
    },

    providersOf: nodeName => providersOf(db, nodeName),

    async version() {
      if (!engine.alone) return versionOf(engine)
      known ??= await versionOf(engine)
      return known
    },

    follow(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    problem: engine.problem,
    close: engine.close,
  }
}

async function versionOf(engine: Engine): Promise<string> {
  const rows = await prepared(engine, 'version', versionQuery, {})
  return String(rows[0]?.value ?? 0)
}

const versionQuery = () => sql<{ value: number }>`select value from sequences where name = 'changes'`

const interfaceFilters = [
  ['networkId', 'network_id'],
  ['subnetId', 'subnet_id'],
  ['source', 'source'],
] as const

async function gathered(pages: AsyncGenerator<InventoryRecord[]>): Promise<InventoryRecord[]> {
  const all: InventoryRecord[] = []
  for await (const page of pages) all.push(...page)
  return all
}

async function* listed(db: Database, filter: Filter): AsyncGenerator<InventoryRecord[]> {
  const limit = Math.min(filter.limit ?? pageSize, pageSize)
  let { after } = filter
  for (;;) {
    const page = (await listRows(db, { ...filter, limit, ...(after && { after }) })).map(recordFrom)
    if (page.length > 0) yield page
    after = page.at(-1)
    if (page.length < limit) return
  }
}

async function listRows(db: Database, filter: Filter): Promise<Selectable<NodeRow>[]> {
  const { providerId, nodeName, instanceId, state, q, limit, after } = filter
  let query = db.selectFrom('nodes').selectAll().orderBy('provider_id').orderBy('node_name')
  if (providerId !== undefined) query = query.where('provider_id', '=', providerId)
  if (nodeName !== undefined) query = query.where('node_name', '=', nodeName)
  if (instanceId !== undefined) query = query.where('instance_id', '=', instanceId)
  if (state !== undefined) query = query.where(({ fn, val }) => fn.coalesce('state', val('Pending')), '=', state)
  for (const [field, column] of interfaceFilters) {
    const value = filter[field]
    if (value === undefined) continue
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('interfaces')
          .select('number')
          .whereRef('interfaces.provider_id', '=', 'nodes.provider_id')
          .whereRef('interfaces.node_name', '=', 'nodes.node_name')
          .where(column, '=', value),
      ),
    )
  }
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
