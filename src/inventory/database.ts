/**
 * Interface of the two database engines: SQLite in a file (sqlite.ts) or PostgreSQL (postgres.ts).
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration'
import { explain } from '../runtime/errors.ts'
import { HttpProblem } from '../server/server.ts'
import { migrations } from './migrations/all.ts'
import type { Reader } from './prepared.ts'
import type { Tables } from './schema.ts'

export type Database = Kysely<Tables>

/** The database cannot do it now, and may later: unreachable, read-only, full or locked. */
export class DatabaseUnavailable extends HttpProblem {
  readonly why: string

  constructor(why: string) {
    super(503, `inventory database unavailable: ${why}`, { retryAfterSeconds: 5 })
    this.why = why
  }
}

export interface Engine extends Reader {
  /** Runs the work in a transaction that may write. Waits for other processes, and keeps the order of the calls. */
  transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** Call first in every transaction that takes IDs: only one writer runs at a time. */
  lockForWrite(tx: Transaction<Tables>): Promise<void>
  /** Call last in a transaction that changed something: the commit notifies the other processes. */
  notifyReplicas(tx: Transaction<Tables>): Promise<void>
  /** No other process writes: a value stays valid until this process writes. */
  singleWriter: boolean
  /** The listener runs after another process changed something. */
  onRemoteChange(listener: () => void): void
  /** The time from which history is kept, if it is kept from this time on: the engine may delete only longer periods. */
  keepsHistoryFrom(time: string): string
  /** Deletes whole periods before the time, if the engine can. Returns the number of deleted history entries. */
  dropHistoryBefore(time: string, now: string, signal?: AbortSignal): Promise<number>
  /** Why the database is unavailable; undefined while it works. */
  problem(): string | undefined
  close(): Promise<void>
}

export async function migrate(db: Database): Promise<void> {
  const known = { ...migrations, ...(await laterMigrations(db)) }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => known } })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find(({ status }) => status === 'Error')?.migrationName
  throw failed ? explain(`migration ${failed}`, error) : error
}

/**
 * Migrations that a later version ran. This version works on its tables during a rolling upgrade and after a return, because
 * migrations only add (docs/decisions/0096-versions-side-by-side.md).
 */
async function laterMigrations(db: Database): Promise<Record<string, Migration>> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return {}
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db)
  const newest = Object.keys(migrations).at(-1) ?? ''
  const later = rows.filter(({ name }) => name > newest)
  return Object.fromEntries(later.map(({ name }) => [name, { up: async () => {} }]))
}
