/**
 * The store of node records and their history. A write stores only differences, and each difference becomes a history entry.
 */
import { type Selectable, sql } from 'kysely'
import type { AuditEntry } from '../contract/audit.ts'
import type {
  HistoryEntry,
  HoldersAnswer,
  InventoryRecord,
  InventoryWrite,
  ProviderCatalog,
  SearchHit,
} from '../contract/inventory.ts'
import type { OperatorVerdict, StoredPlans, VerdictWrite } from '../contract/operator-api.ts'
import type { Log } from '../telemetry/log.ts'
import { type AuditBatch, type AuditFilter, findAudit, putAudit } from './audit.ts'
import type { Database, Engine } from './database.ts'
import type { Filter } from './filter.ts'
import { deleteHistoryBefore, type HistoryFilter, historyOf, providersOf, recordsAt } from './history.ts'
import { findHolders } from './holdings.ts'
import { databasePaths, importLegacyFile } from './legacy/import-json.ts'
import type { Change } from './plan.ts'
import { prepared } from './prepared.ts'
import { type ReadyPort, readyPorts } from './ready-ports.ts'
import { recordFrom } from './rows.ts'
import type { NodeRow } from './schema.ts'
import { find, matchesPrefix } from './search.ts'
import { openSqlite } from './sqlite.ts'
import { findPlans, findVerdicts, hasConfigs, putVerdicts, type VerdictFilter } from './verdicts.ts'
import { putChunk, takeIds } from './write.ts'
import { type WatchedEngine, watchWrites } from './write-watch.ts'

export interface Store {
  /**
   * The verdicts are stored in the same transaction as the last of the records. `requireWaiting` throws if the caller has given
   * up: it is called when no other write can come before this one any more.
   */
  put(writes: readonly InventoryWrite[], verdicts?: readonly VerdictWrite[], options?: PutOptions): Promise<void>
  /** Who asked for what, newest first. */
  audit(filter: AuditFilter): Promise<AuditEntry[]>
  list(filter?: Filter): Promise<InventoryRecord[]>
  /** The same in pages, now or at a past time, so that memory stays bounded with many nodes. */
  pages(filter?: Filter, at?: string): AsyncGenerator<InventoryRecord[]>
  get(providerId: string, nodeName: string): Promise<InventoryRecord | undefined>
  history(filter?: HistoryFilter): Promise<HistoryEntry[]>
  /** Records at that time. */
  at(time: string, filter?: Filter): Promise<InventoryRecord[]>
  providers(): Promise<ProviderCatalog>
  /** Values with the prefix `q`, each with its location. */
  find(q: string, limit?: number): Promise<SearchHit[]>
  /** Interfaces that have or ever had this address, MAC address or port. */
  holders(q: string): Promise<HoldersAnswer>
  /** Undefined if no operator has written verdicts. */
  verdicts(filter: VerdictFilter): Promise<OperatorVerdict[] | undefined>
  /** The last plan of an OpenstackConfig (namespace/name), for each provider that has one. */
  plans(config: string): Promise<StoredPlans>
  /** Changes with every write; used as ETag. */
  version(): Promise<string>
  /** Calls the listener after every change. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void
  /** Deletes history before this time, which may take minutes. Returns the number of deleted entries. */
  pruneHistory(before: string, signal?: AbortSignal): Promise<number>
  /** The time to delete before, so that history is kept from the given time on. */
  keepsHistoryFrom(time: string): string
  /** Providers that have or had a node of this name. */
  providersOf(nodeName: string): Promise<string[]>
  /** Why the database is unavailable; undefined while it works. */
  problem(): string | undefined
  /** Why the last write failed; undefined since one succeeded. */
  writeProblem(): string | undefined
  close(): Promise<void>
}

export interface PutOptions {
  requireWaiting?: () => void
  /** Stored in the same transaction as the verdicts. */
  audit?: AuditBatch
}

export interface StoreOptions {
  /** SQLite file, or the legacy JSON file; the database is then the `.db` file next to it. */
  path: string
  /** PostgreSQL instead of SQLite. */
  databaseUrl?: string | undefined
  log: Log
  now?: () => Date
  /** Called once for each port that reached its last stage, by the replica that stored it, after the commit. */
  onReady?: (port: ReadyPort) => void
  /** How long a write waits for another process that has locked the SQLite file. */
  maxLockMs?: number
}

/** Nodes per transaction. SQLite blocks this thread: readers run between transactions. */
const chunkSize = 200
const pageSize = 500

export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, databaseUrl, log, now = () => new Date(), onReady = () => {}, maxLockMs } = options
  const paths = databasePaths(path)
  const importLegacy = (engine: Engine) =>
    importLegacyFile({ db: engine.db, put: createPut(engine, now), legacyFile: paths.legacyFile, log, now })
  if (databaseUrl !== undefined) {
    // Loaded on demand: the client takes memory that SQLite does not need.
    const { openPostgres } = await import('./postgres.ts')
    const engine = await openPostgres({ url: databaseUrl, log, prepare: importLegacy })
    return createStore(watchWrites(engine, log), now, onReady)
  }
  const engine = await openSqlite(paths.database, log, now, maxLockMs)
  await importLegacy(engine)
  return createStore(watchWrites(engine, log), now, onReady)
}

type Put = (
  writes: readonly InventoryWrite[],
  timeOf?: (write: InventoryWrite) => string | undefined,
  verdicts?: readonly VerdictWrite[],
  options?: PutOptions,
) => Promise<void>

function createPut(
  { transaction, lockForWrite, notifyReplicas }: Engine,
  now: () => Date,
  onChange: (changes: readonly Change[]) => void = () => {},
): Put {
  return async (writes, timeOf, verdicts = [], { requireWaiting = () => {}, audit } = {}) => {
    const isOnly = verdicts.length > 0 || (audit?.entries.length ?? 0) > 0
    for (let start = 0; start < writes.length || (start === 0 && isOnly); start += chunkSize) {
      const chunk = writes.slice(start, start + chunkSize)
      const isLast = start + chunkSize >= writes.length
      const { changes, isChanged } = await transaction(async tx => {
        await lockForWrite(tx)
        requireWaiting()
        const changes = await putChunk(tx, chunk, write => timeOf?.(write) ?? now().toISOString())
        const verdictsChanged = isLast && (await putVerdicts(tx, verdicts, now))
        // A changed record has taken one already.
        if (verdictsChanged && changes.length === 0) await takeIds(tx, 1)
        const isAudited = isLast && audit !== undefined && (await putAudit(tx, audit))
        const isChanged = verdictsChanged || changes.length > 0 || isAudited
        if (isChanged) await notifyReplicas(tx)
        return { changes, isChanged }
      })
      if (isChanged) onChange(changes)
    }
  }
}

function createStore(engine: WatchedEngine, now: () => Date, onReady: (port: ReadyPort) => void): Store {
  const { db } = engine
  const listeners = new Set<() => void>()
  let cachedVersion: string | undefined
  const notify = () => {
    cachedVersion = undefined
    for (const listener of listeners) listener()
  }
  engine.onRemoteChange(notify)
  const put = createPut(engine, now, changes => {
    notify()
    for (const port of changes.flatMap(readyPorts)) onReady(port)
  })

  async function* pages(filter: Filter = {}, at?: string): AsyncGenerator<InventoryRecord[]> {
    let left = filter.limit ?? Number.POSITIVE_INFINITY
    for await (const page of at === undefined ? listPages(db, filter) : recordsAt(db, at, filter, pageSize)) {
      yield page.slice(0, left)
      left -= page.length
      if (left <= 0) return
    }
  }

  return {
    put: (writes, verdicts, options) => put(writes, undefined, verdicts, options),
    audit: filter => findAudit(db, filter),

    list: filter => collect(pages(filter)),
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
    at: (time, filter) => collect(pages(filter, time)),
    find: (q, limit = 50) => find(engine, q, limit),
    holders: q => findHolders(engine, q),
    async pruneHistory(before, signal) {
      const dropped = await engine.dropHistoryBefore(before, now().toISOString(), signal)
      return dropped + (await deleteHistoryBefore(engine, before))
    },
    keepsHistoryFrom: engine.keepsHistoryFrom,

    async providers() {
      const rows = await db
        .selectFrom('nodes')
        .select(['provider_id', 'provider_name', 'node_name', 'instance_id', 'interface_count', 'updated_at'])
        .orderBy('provider_id')
        .orderBy('node_name')
        .execute()
      return catalogOf(rows)
    },

    verdicts: async filter => ((await hasConfigs(engine)) ? findVerdicts(db, filter) : undefined),

    plans: config => findPlans(db, config),

    providersOf: nodeName => providersOf(db, nodeName),

    async version() {
      if (!engine.singleWriter) return versionOf(engine)
      cachedVersion ??= await versionOf(engine)
      return cachedVersion
    },

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    problem: engine.problem,
    writeProblem: engine.writeProblem,
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

async function collect(pages: AsyncGenerator<InventoryRecord[]>): Promise<InventoryRecord[]> {
  const all: InventoryRecord[] = []
  for await (const page of pages) all.push(...page)
  return all
}

async function* listPages(db: Database, filter: Filter): AsyncGenerator<InventoryRecord[]> {
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
  // A parameter in place of the text would not match the index.
  if (state !== undefined) query = query.where(sql`coalesce(state, 'Pending')`, '=', state)
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
  if (q !== undefined) query = query.where(matchesPrefix(q))
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
  rows: Pick<
    NodeRow,
    'provider_id' | 'provider_name' | 'node_name' | 'instance_id' | 'interface_count' | 'updated_at'
  >[],
): ProviderCatalog {
  const byProvider = Map.groupBy(rows, row => row.provider_id)
  const providers = [...byProvider].map(([providerId, nodes]) => {
    const { provider_name, updated_at } = nodes.reduce((newest, one) =>
      one.updated_at > newest.updated_at ? one : newest,
    )
    return {
      providerId,
      ...(provider_name === null ? {} : { providerName: provider_name }),
      nodeCount: nodes.length,
      updatedAt: updated_at,
      nodes: nodes.map(row => ({
        providerId,
        nodeName: row.node_name,
        instanceId: row.instance_id,
        interfaceCount: row.interface_count,
        updatedAt: row.updated_at,
      })),
    }
  })
  return { providers }
}
