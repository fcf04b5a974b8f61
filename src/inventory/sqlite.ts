/**
 * The embedded database: SQLite in one file, through node:sqlite.
 *
 * WAL with synchronous FULL: acknowledged writes survive a power failure. A transaction writes many nodes, so the cost is
 * one sync per transaction.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, type KyselyPlugin, SqliteDialect } from 'kysely'
import { explain, messageOf } from '../runtime/errors.ts'
import { giveWay } from '../runtime/event-loop.ts'
import type { Log } from '../telemetry/log.ts'
import { type Database, DatabaseUnavailable, type Engine, migrate } from './database.ts'
import { markKeptSince } from './holdings.ts'
import type { Tables } from './schema.ts'

/**
 * Renames a damaged file and starts a new one: the operator writes all records again. `maxLockMs`: another process, such as a
 * backup, may hold the lock for this long.
 */
export async function openSqlite(path: string, log: Log, now: () => Date, maxLockMs = 10_000): Promise<Engine> {
  try {
    return createEngine(await openDatabase(path), path, maxLockMs)
  } catch (error) {
    if (!isDamaged(error)) throw explain(`inventory ${path}`, error)
    const backup = `${path}.damaged-${now().toISOString().replace(/[:.]/g, '-')}`
    renameSync(path, backup)
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
    log.error('inventory file damaged, renamed it and started a new one', { path, renamedTo: backup, error })
    const db = await openDatabase(path)
    await markKeptSince(db, now().toISOString())
    return createEngine(db, path, maxLockMs)
  }
}

/**
 * A single connection serializes the transactions, and no other process needs a notification. A second, read-only
 * connection reads committed data without waiting for them.
 */
function createEngine(db: Database, path: string, maxLockMs: number): Engine {
  const file = path === ':memory:' ? undefined : new DatabaseSync(path, { readOnly: true })
  file?.exec(smallCache)
  const reader = file && kyselyDatabase(file)
  return {
    db,
    ...(reader && { read: <T>(sql: string, values: readonly unknown[]) => reader.prepare(sql).all(values) as T[] }),
    transaction: writeTransactions(db, maxLockMs),
    lockForWrite: async () => {},
    notifyReplicas: async () => {},
    singleWriter: true,
    onRemoteChange: () => {},
    keepsHistoryFrom: time => time,
    dropHistoryBefore: async () => 0,
    problem: () => undefined,
    async close() {
      file?.close()
      await db.destroy()
    },
  }
}

const lockPauseMs = 50
/** SQLite blocks this thread while it waits for a lock, so each attempt is short. */
const busyMs = 50

/** One after the other: a write that waits for the lock must not replace a newer record. */
function writeTransactions(db: Database, maxLockMs: number): Engine['transaction'] {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const until = performance.now() + maxLockMs
    const result = last.then(async () => {
      for (;;) {
        try {
          return await db.transaction().execute(work)
        } catch (error) {
          if (!(error instanceof DatabaseLocked) || performance.now() >= until) throw error
        }
        await sleep(lockPauseMs)
      }
    })
    last = result.catch(() => {})
    return result
  }
}

/** 256 KiB in place of 2 MiB for each connection: the kernel keeps the file in memory anyway, and gives it up if it has to. */
const smallCache = 'pragma cache_size = -256'

async function openDatabase(path: string): Promise<Database> {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true })
    // Creates the file with mode 0600; SQLite gives its -wal and -shm files the same mode.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  }
  const file = new DatabaseSync(path)
  try {
    file.exec('pragma busy_timeout = 5000')
    file.exec('pragma journal_mode = wal')
    file.exec('pragma synchronous = full')
    file.exec('pragma foreign_keys = on')
    file.exec(smallCache)
    const dialect = new SqliteDialect({ database: kyselyDatabase(file) })
    const db = new Kysely<Tables>({ dialect, plugins: [inTurns] })
    await migrate(db)
    file.exec(`pragma busy_timeout = ${busyMs}`)
    return db
  } catch (error) {
    if (file.isOpen) file.close()
    throw error
  }
}

/** SQLite blocks this thread and settles promises at once: without a pause between queries, a transaction is one stretch. */
const inTurns: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  async transformResult({ result }) {
    await giveWay()
    return result
  },
}

class DatabaseLocked extends DatabaseUnavailable {}

/** Result codes of https://sqlite.org/rescode.html that say nothing about the statement. */
const unavailable = {
  locked: [5, 6],
  /** Read-only, I/O error, full, cannot open. */
  other: [8, 10, 13, 14],
}

/** Runs it, and turns the errors of an unavailable database into 503 problems. */
function checked<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    // Extended codes have the code in their lowest byte.
    const code = Number((error as { errcode?: number }).errcode) & 0xff
    if (unavailable.locked.includes(code)) throw new DatabaseLocked(messageOf(error))
    if (unavailable.other.includes(code)) throw new DatabaseUnavailable(messageOf(error))
    throw error
  }
}

function isDamaged(error: unknown): boolean {
  return /file is not a database|malformed/i.test(messageOf(error))
}

/** Caches prepared statements: the same texts repeat, and preparing costs as much as running. */
function kyselyDatabase(file: DatabaseSync) {
  const prepared = new Map<string, ReturnType<typeof kyselyStatement>>()
  return {
    prepare(sql: string) {
      // SQLite has rolled back already, for example because the disk is full. Another error would hide that one.
      if (sql === 'rollback' && !file.isTransaction) return nothing
      const known = prepared.get(sql)
      if (known) return known
      if (prepared.size >= 200) prepared.clear()
      const statement = kyselyStatement(checked(() => file.prepare(startsWithLock(sql))))
      prepared.set(sql, statement)
      return statement
    },
    close: () => file.close(),
  }
}

const nothing = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
}

/** SQLite does not wait for the lock when a transaction that has read begins to write. */
function startsWithLock(sql: string): string {
  return sql === 'begin' ? 'begin immediate' : sql
}

function kyselyStatement(statement: StatementSync) {
  const values = (parameters: ReadonlyArray<unknown>) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters: ReadonlyArray<unknown>) => checked(() => statement.all(...values(parameters))),
    run: (parameters: ReadonlyArray<unknown>) => checked(() => statement.run(...values(parameters))),
    iterate: (parameters: ReadonlyArray<unknown>) => statement.iterate(...values(parameters)),
  }
}
