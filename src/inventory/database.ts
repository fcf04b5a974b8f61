/**
 * Interface of the two database engines: SQLite in a file (sqlite.ts) or PostgreSQL (postgres.ts).
 */
import type { Kysely, Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { explain } from '../runtime/errors.ts'
import { migrations } from './migrations/all.ts'
import type { Reader } from './prepared.ts'
import type { Tables } from './schema.ts'

export type Database = Kysely<Tables>

export interface Engine extends Reader {
  /** Call first in every transaction that writes: only one writer runs at a time. */
  lockForWrite(tx: Transaction<Tables>): Promise<void>
  /** Call last in a transaction that changed something: the commit notifies the other processes. */
  notifyReplicas(tx: Transaction<Tables>): Promise<void>
  /** No other process writes: a value stays valid until this process writes. */
  singleWriter: boolean
  /** The listener runs after another process changed something. */
  onRemoteChange(listener: () => void): void
  /** Why the database is unavailable; undefined while it works. */
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
