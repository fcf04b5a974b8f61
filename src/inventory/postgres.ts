/**
 * PostgreSQL, for an inventory with several replicas: the same tables and queries. An advisory lock allows one writer at a
 * time, and LISTEN/NOTIFY reports changes to the other replicas.
 *
 * The server may be unavailable, also at startup: queries then throw a 503 problem, and the listening connection retries
 * until the server is back. No message contains the URL, because it contains the password.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Database, DatabaseUnavailable, type Engine, migrate } from './database.ts'
import { createPartitions, dropPartitionsBefore, startOfMonth } from './partitions.ts'
import { statementName } from './prepared.ts'
import type { Tables } from './schema.ts'

export interface PostgresOptions {
  url: string
  log: Log
  /** Runs once after the migrations and before any other query. */
  prepare(engine: Engine): Promise<void>
}

const channel = 'multinic_inventory'
/** Arbitrary key of the advisory lock that a writer holds until its commit. */
const writerLock = 7_218_081
/** Of the replica that maintains the partitions. */
const partitionsLock = 7_218_082
const lockWriters = `select pg_advisory_xact_lock(${writerLock})`
const [minRetryMs, maxRetryMs, heartbeatMs] = [200, 5_000, 10_000]

/** Returns after the first attempt, even if it failed. */
export async function openPostgres({ url, log, prepare }: PostgresOptions): Promise<Engine> {
  const settings = settingsOf(url)
  const pool = new pg.Pool({ ...settings, max: 8 })
  // An idle connection that breaks emits 'error', which ends the process without a listener.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  const listeners = new Set<() => void>()
  const stop = new AbortController()
  let usable = false
  let problem: string | undefined = 'not connected yet'

  const createEngine = (db: Database): Engine => ({
    db,
    transaction: work => db.transaction().execute(work),
    async lockForWrite(tx) {
      await sql.raw(lockWriters).execute(tx)
    },
    async notifyReplicas(tx) {
      await sql`select pg_notify(${sql.lit(channel)}, '')`.execute(tx)
    },
    singleWriter: false,
    onRemoteChange: listener => listeners.add(listener),
    keepsHistoryFrom: startOfMonth,
    dropHistoryBefore,
    problem: () => problem,
    close,
  })
  const db = kyselyOver(pool, () => {
    if (!usable) throw unavailable(problem)
  })

  async function setUp(): Promise<void> {
    if (usable) return
    const unchecked = kyselyOver(pool, () => {})
    await migrate(unchecked)
    await prepare(createEngine(unchecked))
    usable = true
  }

  /** On a connection of its own, without a limit of time. One replica is enough. */
  async function dropHistoryBefore(time: string, now: string, signal?: AbortSignal): Promise<number> {
    if (!usable) throw unavailable(problem)
    const client = new pg.Client({ ...settings, statement_timeout: 0, query_timeout: 0 })
    client.on('error', () => {})
    const end = () => void client.end().catch(() => {})
    signal?.addEventListener('abort', end)
    try {
      await client.connect()
      const query = async (text: string) => (await client.query(text)).rows
      const [lock] = await query(`select pg_try_advisory_lock(${partitionsLock}) as taken`)
      if (lock?.['taken'] !== true) return 0
      await createPartitions(query, lockWriters, now)
      return await dropPartitionsBefore(query, lockWriters, time)
    } finally {
      signal?.removeEventListener('abort', end)
      end()
    }
  }

  /** Holds one listening connection until it breaks or the engine closes. */
  async function holdListener(onConnected: () => void): Promise<void> {
    const client = new pg.Client(settings)
    const broken = new Promise<never>((_, reject) => {
      client.on('error', reject)
      client.once('end', () => reject(new Error('connection closed')))
    })
    broken.catch(() => {})
    try {
      await client.connect()
      await setUp()
      client.on('notification', notifyListeners)
      await client.query(`listen ${channel}`)
      problem = undefined
      onConnected()
      // Changes may have been missed while disconnected.
      notifyListeners()
      while (!stop.signal.aborted) {
        await Promise.race([sleep(heartbeatMs, undefined, { signal: stop.signal }), broken])
        // Detects a server that disappeared without closing the connection.
        await client.query('select 1')
      }
    } finally {
      client.end().catch(() => {})
    }
  }

  function notifyListeners(): void {
    for (const listener of listeners) listener()
  }

  async function keepListening(onFirstAttempt: () => void): Promise<void> {
    let retryMs = minRetryMs
    while (!stop.signal.aborted) {
      try {
        await holdListener(() => {
          log.info('connected to inventory database', { database: withoutCredentials(url) })
          retryMs = minRetryMs
          onFirstAttempt()
        })
      } catch (error) {
        if (stop.signal.aborted) return
        if (problem !== causeOf(error))
          log.error('inventory database unavailable', { database: withoutCredentials(url), error: causeOf(error) })
        problem = causeOf(error)
        onFirstAttempt()
      }
      await sleep(retryMs, undefined, { signal: stop.signal }).catch(() => {})
      retryMs = Math.min(2 * retryMs, maxRetryMs)
    }
  }

  async function close(): Promise<void> {
    stop.abort()
    await listening
    await pool.end()
  }

  let listening: Promise<void> = Promise.resolve()
  await new Promise<void>(resolve => {
    listening = keepListening(resolve)
  })
  return createEngine(db)
}

function settingsOf(url: string): pg.PoolConfig {
  return {
    connectionString: url,
    application_name: 'multinic-inventory',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    query_timeout: 35_000,
    // A replica that hangs inside a transaction must not block the other writers forever.
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser: (id, format) => (id === pg.types.builtins.INT8 ? Number : textParser(id, format)) },
  }
}

const textParser = pg.types.getTypeParser as (id: number, format?: string) => (value: string) => unknown

/**
 * Wraps the connections of the pool: a server error becomes a 503 problem, and text values lose NUL characters. The owner
 * of the pool closes it.
 */
function kyselyOver(pool: pg.Pool, check: () => void): Database {
  async function connect(): Promise<PostgresPoolClient> {
    check()
    const client = await pool.connect().catch(throwUnavailable)
    // Of a query without an answer. A later query on this connection would wait for that answer too.
    let failure: unknown
    const query = async (text: string, values: readonly unknown[]) => {
      if (failure) throw failure
      try {
        return await client.query({ name: statementName(text), text, values: values.map(withoutNul) })
      } catch (error) {
        if (!hasAnswer(error)) failure = unavailable(causeOf(error))
        return throwUnavailable(error)
      }
    }
    const release = (destroy = false) => client.release(destroy || failure !== undefined)
    return { query, release } as unknown as PostgresPoolClient
  }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: { connect, end: async () => {}, options: {} } }) })
}

/** PostgreSQL refuses text with NUL characters. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

function throwUnavailable(error: unknown): never {
  throw isUnavailable(error) ? unavailable(causeOf(error)) : error
}

function isUnavailable(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return !hasAnswer(error) || /^(08|53|57|58)/.test(code) || code === '25006'
}

/** Errors of the server have a severity; all others are connection errors. */
function hasAnswer(error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined
}

function unavailable(cause = 'not connected'): DatabaseUnavailable {
  return new DatabaseUnavailable(cause)
}

/** A host name with several addresses fails with one AggregateError that has no message. */
function causeOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : messageOf(error)
}

function withoutCredentials(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
