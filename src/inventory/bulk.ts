/**
 * Inserts of many rows, with one compiled statement for each table and batch size.
 */
import { CompiledQuery, type Insertable, type InsertQueryBuilder, type InsertResult, type Kysely } from 'kysely'
import { queryText } from './prepared.ts'
import type { Tables } from './schema.ts'

type Insert<T extends keyof Tables> = InsertQueryBuilder<Tables, T, InsertResult>

/** SQLite keeps each size as a prepared statement, and a statement of 500 rows takes more memory than the rows. */
const batchSizes = [128, 16, 1]

/** Every row has the same keys in the same order. `finish` may add an `on conflict` clause. */
export async function insertAll<T extends keyof Tables>(
  tx: Kysely<Tables>,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  finish: (insert: Insert<T>) => Insert<T> = insert => insert,
): Promise<void> {
  for (let start = 0; start < rows.length; ) {
    const size = batchSizes.find(one => start + one <= rows.length) ?? 1
    const batch = rows.slice(start, start + size)
    const { sql } = queryText(tx, `${table} ${size}`, () => ({
      sql: finish(tx.insertInto(table).values(batch)).compile().sql,
      parameters: [],
    }))
    await tx.executeQuery(CompiledQuery.raw(sql, batch.flatMap(Object.values)))
    start += size
  }
}
