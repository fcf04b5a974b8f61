/**
 * Caches the SQL text of queries: building a query costs more than running it.
 */
import { CompiledQuery, type Kysely, type RawBuilder } from 'kysely'
import type { Tables } from './schema.ts'

/** What an engine reads with. */
export interface Reader {
  /** Queries throw a 503 problem while the database is unavailable. */
  db: Kysely<Tables>
  /** Reads on a connection of its own, so that it does not wait for a transaction of `db`. */
  read?: <T>(sql: string, values: readonly unknown[]) => T[]
}

interface Text {
  sql: string
  /** Names of the parameters, in order. */
  parameters: readonly string[]
}

/** Marks a parameter in the query by name; its value comes when the query runs. */
export type Placeholder = (name: string) => unknown

const texts = new WeakMap<object, Map<string, Text>>()
const names = new Map<string, string>()

/** The name of a cached text. PostgreSQL parses and plans a named statement once per connection. */
export const statementName = (text: string): string | undefined => names.get(text)

/** Runs the query of this name; `build` makes it the first time. */
export async function prepared<T>(
  { db, read }: Reader,
  name: string,
  build: (parameter: Placeholder) => RawBuilder<T>,
  values: Record<string, unknown>,
): Promise<T[]> {
  const { sql, parameters } = queryText(db, name, () => {
    const compiled = build(name => name).compile(db)
    return { sql: compiled.sql, parameters: compiled.parameters as string[] }
  })
  const ordered = parameters.map(parameter => values[parameter])
  return read ? read<T>(sql, ordered) : (await db.executeQuery<T>(CompiledQuery.raw(sql, ordered))).rows
}

/** Cached per database, because dialects differ. */
export function queryText(db: Kysely<Tables>, name: string, make: () => Text): Text {
  const { adapter } = db.getExecutor()
  const known = texts.get(adapter) ?? new Map<string, Text>()
  texts.set(adapter, known)
  const text = known.get(name) ?? make()
  known.set(name, text)
  names.set(text.sql, name)
  return text
}
