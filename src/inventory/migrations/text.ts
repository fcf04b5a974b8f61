/**
 * Type of a text column with byte order on both engines. The default collation of PostgreSQL sorts by language, and then
 * a prefix would not be a range.
 */
import { type Kysely, type RawBuilder, SqliteAdapter, sql } from 'kysely'

export function textOf(db: Kysely<unknown>): 'text' | RawBuilder<unknown> {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'text' : sql`text collate "C"`
}
