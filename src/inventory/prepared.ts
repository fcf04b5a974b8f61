/**
 * Texts of queries that are put together once: building one costs more than running it.
 */
import { CompiledQuery, type Kysely, type RawBuilder } from 'kysely'
import type { Engine } from './database.ts'
import type { Tables } from './schema.ts'

interface Text {
  sql: string
  /** Names of the values, in the order in which the text wants them. */
  slots: readonly string[]
}

/** A place in the query for a value that is known only when it runs. */
export type Slot = (name: string) => unknown

const texts = new WeakMap<object, Map<string, Text>>()

/** Runs the query that `build` makes, or has made before under this name. */
export async function prepared<T>(
  { db, read }: Pick<Engine, 'db' | 'read'>,
  name: string,
  build: (slot: Slot) => RawBuilder<T>,
  values: Record<string, unknown>,
): Promise<T[]> {
  const { sql, slots } = textOf(db, name, () => {
    const compiled = build(slot => slot).compile(db)
    return { sql: compiled.sql, slots: compiled.parameters as string[] }
  })
  const given = slots.map(slot => values[slot])
  return read ? read<T>(sql, given) : (await db.executeQuery<T>(CompiledQuery.raw(sql, given))).rows
}

/** Of one database: another may speak another dialect. */
export function textOf(db: Kysely<Tables>, name: string, make: () => Text): Text {
  const { adapter } = db.getExecutor()
  const known = texts.get(adapter) ?? new Map<string, Text>()
  texts.set(adapter, known)
  const text = known.get(name) ?? make()
  known.set(name, text)
  return text
}
