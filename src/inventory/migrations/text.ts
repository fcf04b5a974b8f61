/**
 * The type of a text column, in byte order on both engines: PostgreSQL would sort as its language does, and then the
 * beginning of a text would not be a range.
 */
import { type Kysely, type RawBuilder, SqliteAdapter, sql } from 'kysely'

export function textOf(db: Kysely<unknown>): 'text' | RawBuilder<unknown> {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'text' : sql`text collate "C"`
}
