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
import { explain, messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Database, type Engine, migrate } from './database.ts'
import type { Tables } from './schema.ts'

/** A file that is no database any more is put aside, with its name told: the inventory can be built up again. */
export async function openSqlite(path: string, log: Log, now: () => Date): Promise<Engine> {
  try {
    return engineOf(await opened(path))
  } catch (error) {
    if (!isDamaged(error)) throw explain(`inventory ${path}`, error)
    const aside = `${path}.damaged-${now().toISOString().replace(/[:.]/g, '-')}`
    renameSync(path, aside)
    for (const rest of ['-wal', '-shm']) rmSync(`${path}${rest}`, { force: true })
    log.error('the inventory file is damaged; it was put aside and a new one begun', { path, aside, error })
    return engineOf(await opened(path))
  }
}

/** One process, one connection: transactions follow each other by themselves, and there is nobody else to tell. */
function engineOf(db: Database): Engine {
  return {
    db,
    beginWrite: async () => {},
    announce: async () => {},
    onForeignChange: () => {},
    problem: () => undefined,
    close: () => db.destroy(),
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
  const prepared = new Map<string, StatementSync>()
  return {
    prepare(sql: string) {
      const statement = prepared.get(sql) ?? file.prepare(sql)
      if (!prepared.has(sql)) {
        if (prepared.size >= 200) prepared.clear()
        prepared.set(sql, statement)
      }
      const values = (parameters: ReadonlyArray<unknown>) => parameters as SQLInputValue[]
      return {
        reader: statement.columns().length > 0,
        all: (parameters: ReadonlyArray<unknown>) => statement.all(...values(parameters)),
        run: (parameters: ReadonlyArray<unknown>) => statement.run(...values(parameters)),
        iterate: (parameters: ReadonlyArray<unknown>) => statement.iterate(...values(parameters)),
      }
    },
    close: () => file.close(),
  }
}
