/**
 * The database under the store, the same for both engines: SQLite in a file (sqlite.ts) or PostgreSQL (postgres.ts).
 */
import type { Kysely, Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { explain } from '../runtime/errors.ts'
import { migrations } from './migrations/all.ts'
import type { Tables } from './schema.ts'

export type Database = Kysely<Tables>

export interface Engine {
  /** Its queries throw a 503 while the database is away. */
  db: Database
  /** Reads beside `db`, at once: it does not wait for a transaction that is under way there. */
  read?: <T>(sql: string, values: readonly unknown[]) => T[]
  /** First in every transaction that writes: one writer at a time. */
  beginWrite(tx: Transaction<Tables>): Promise<void>
  /** Last in one that changed something: other processes hear of it when it is committed. */
  announce(tx: Transaction<Tables>): Promise<void>
  /** Nobody else writes: what was read once stays true until we write. */
  alone: boolean
  /** Called when another process has changed something. */
  onForeignChange(listener: () => void): void
  /** Why the database cannot be used now. */
  problem(): string | undefined
  close(): Promise<void>
}

export async function migrate(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find(({ status }) => status === 'Error')?.migrationName
  throw failed ? explain(`migration ${failed}`, error) : error
}
