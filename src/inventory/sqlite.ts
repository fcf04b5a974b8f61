/**
 * The embedded database: SQLite in one file, through Node itself.
 *
 * WAL with synchronous FULL: what was acknowledged is on the disk, also when the power goes. A put is one transaction
 * for many nodes, so the price is one sync a put.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { explain, messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Database, type Engine, migrate } from './database.ts'
import type { Tables } from './schema.ts'

/** A file that is no database any more is put aside, with its name told: the inventory can be built up again. */
export async function openSqlite(path: string, log: Log, now: () => Date): Promise<Engine> {
  try {
    return engineOf(await opened(path), path)
  } catch (error) {
    if (!isDamaged(error)) throw explain(`inventory ${path}`, error)
    const aside = `${path}.damaged-${now().toISOString().replace(/[:.]/g, '-')}`
    renameSync(path, aside)
    for (const rest of ['-wal', '-shm']) rmSync(`${path}${rest}`, { force: true })
    log.error('the inventory file is damaged; it was put aside and a new one begun', { path, aside, error })
    return engineOf(await opened(path), path)
  }
}

/**
 * One process, one connection: transactions follow each other by themselves, and there is nobody else to tell. A second one
 * reads beside it, and sees what is committed.
 */
function engineOf(db: Database, path: string): Engine {
  const file = path === ':memory:' ? undefined : new DatabaseSync(path, { readOnly: true })
  const beside = file && spokenByKysely(file)
  return {
    db,
    ...(beside && { read: <T>(sql: string, values: readonly unknown[]) => beside.prepare(sql).all(values) as T[] }),
    beginWrite: async () => {},
    announce: async () => {},
    alone: true,
    onForeignChange: () => {},
    problem: () => undefined,
    async close() {
      file?.close()
      await db.destroy()
    },
  }
}

async function opened(path: string): Promise<Database> {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true })
    // Made here, so that it and the files beside it are for us alone.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  }
  const file = new DatabaseSync(path)
  try {
    file.exec('pragma busy_timeout = 5000')
    file.exec('pragma journal_mode = wal')
    file.exec('pragma synchronous = full')
    file.exec('pragma foreign_keys = on')
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: spokenByKysely(file) }) })
    await migrate(db)
    return db
  } catch (error) {
    if (file.isOpen) file.close()
    throw error
  }
}

function isDamaged(error: unknown): boolean {
  return /file is not a database|malformed/i.test(messageOf(error))
}

/** Statements are prepared once: the texts repeat, and preparing costs as much as running. */
function spokenByKysely(file: DatabaseSync) {
  const prepared = new Map<string, ReturnType<typeof spoken>>()
  return {
    prepare(sql: string) {
      const known = prepared.get(sql)
      if (known) return known
      if (prepared.size >= 200) prepared.clear()
      const statement = spoken(file.prepare(sql))
      prepared.set(sql, statement)
      return statement
    },
    close: () => file.close(),
  }
}

function spoken(statement: StatementSync) {
  const values = (parameters: ReadonlyArray<unknown>) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters: ReadonlyArray<unknown>) => statement.all(...values(parameters)),
    run: (parameters: ReadonlyArray<unknown>) => statement.run(...values(parameters)),
    iterate: (parameters: ReadonlyArray<unknown>) => statement.iterate(...values(parameters)),
  }
}
