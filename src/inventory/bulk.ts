/**
 * Inserts of many rows: one text for each table and number of rows.
 */
import { CompiledQuery, type Insertable, type InsertQueryBuilder, type InsertResult, type Transaction } from 'kysely'
import { textOf } from './prepared.ts'
import type { Tables } from './schema.ts'

type Insert<T extends keyof Tables> = InsertQueryBuilder<Tables, T, InsertResult>

/** Of few sizes: each is a statement that SQLite keeps prepared, and one of 500 rows takes more memory than the rows. */
const sliceSizes = [128, 16, 1]

/** Every row has the same keys, in the same order. `finish` adds what to do with rows that are there already. */
export async function insertAll<T extends keyof Tables>(
  tx: Transaction<Tables>,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  finish: (insert: Insert<T>) => Insert<T> = insert => insert,
): Promise<void> {
  for (let start = 0; start < rows.length; ) {
    const size = sliceSizes.find(one => start + one <= rows.length) ?? 1
    const slice = rows.slice(start, start + size)
    const { sql } = textOf(tx, `${table} ${size}`, () => ({
      sql: finish(tx.insertInto(table).values(slice)).compile().sql,
      slots: [],
    }))
    await tx.executeQuery(CompiledQuery.raw(sql, slice.flatMap(Object.values)))
    start += size
  }
}
