/**
 * PostgreSQL, for an inventory of several replicas: the same tables and queries, one writer at a time across all of them,
 * and each hears of the others' changes.
 *
 * The server may be away, also at the start: queries are then answered 503, and one connection of our own (it listens for
 * changes) tries until it is back. Nothing here ever says the address with its password.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'
import { messageOf } from '../runtime/errors.ts'
import { HttpProblem } from '../server/server.ts'
import type { Log } from '../telemetry/log.ts'
import { type Database, type Engine, migrate } from './database.ts'
import type { Tables } from './schema.ts'

export interface PostgresOptions {
  url: string
  log: Log
  /** Done once, after the tables are there and before anybody else may ask. */
  prepare(engine: Engine): Promise<void>
}

const channel = 'multinic_inventory'
/** Any number, as long as it is ours: the lock that a writer holds until its commit. */
const writersLock = 7_218_081
const [firstPauseMs, longestPauseMs, pulseMs] = [200, 5_000, 10_000]

/** Comes back after the first try, whether it succeeded or not. */
export async function openPostgres({ url, log, prepare }: PostgresOptions): Promise<Engine> {
  const settings = settingsOf(url)
  const pool = new pg.Pool({ ...settings, max: 8 })
  // A connection that breaks while nobody asks it anything ends the process unless somebody listens.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  const listeners = new Set<() => void>()
  const stop = new AbortController()
  let usable = false
  let problem: string | undefined = 'it was not asked yet'

  const engineOver = (db: Database): Engine => ({
    db,
    async beginWrite(tx) {
      await sql`select pg_advisory_xact_lock(${sql.lit(writersLock)})`.execute(tx)
    },
    async announce(tx) {
      await sql`select pg_notify(${sql.lit(channel)}, '')`.execute(tx)
    },
    alone: false,
    onForeignChange: listener => listeners.add(listener),
    problem: () => problem,
    close,
  })
  const db = over(pool, () => {
    if (!usable) throw away(problem)
  })

  async function setUp(): Promise<void> {
    if (usable) return
    const early = over(pool, () => {})
    await migrate(early)
    await prepare(engineOver(early))
    usable = true
  }

  /** One life of the listening connection: until it breaks, or we are closed. */
  async function attend(onUp: () => void): Promise<void> {
    const client = new pg.Client(settings)
    const broken = new Promise<never>((_, reject) => {
      client.on('error', reject)
      client.once('end', () => reject(new Error('the connection ended')))
    })
    broken.catch(() => {})
    try {
      await client.connect()
      await setUp()
      client.on('notification', wake)
      await client.query(`listen ${channel}`)
      problem = undefined
      onUp()
      // What changed while nobody listened.
      wake()
      while (!stop.signal.aborted) {
        await Promise.race([sleep(pulseMs, undefined, { signal: stop.signal }), broken])
        // A server that vanished without a word is noticed by its silence.
        await client.query('select 1')
      }
    } finally {
      client.end().catch(() => {})
    }
  }

  function wake(): void {
    for (const listener of listeners) listener()
  }

  async function attendForEver(onFirst: () => void): Promise<void> {
    let pause = firstPauseMs
    while (!stop.signal.aborted) {
      try {
        await attend(() => {
          log.info('the database of the inventory answers', { database: nameOf(url) })
          pause = firstPauseMs
          onFirst()
        })
      } catch (error) {
        if (stop.signal.aborted) return
        if (problem !== reasonOf(error))
          log.error('the database of the inventory does not answer', { database: nameOf(url), error: reasonOf(error) })
        problem = reasonOf(error)
        onFirst()
      }
      await sleep(pause, undefined, { signal: stop.signal }).catch(() => {})
      pause = Math.min(2 * pause, longestPauseMs)
    }
  }

  async function close(): Promise<void> {
    stop.abort()
    await attending
    await pool.end()
  }

  let attending: Promise<void> = Promise.resolve()
  await new Promise<void>(resolve => {
    attending = attendForEver(resolve)
  })
  return engineOver(db)
}

function settingsOf(url: string): pg.PoolConfig {
  return {
    connectionString: url,
    application_name: 'multinic-inventory',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    query_timeout: 35_000,
    // A replica that hangs in the middle of a write does not hold the others for ever.
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser: (id, format) => (id === pg.types.builtins.INT8 ? Number : textParser(id, format)) },
  }
}

const textParser = pg.types.getTypeParser as (id: number, format?: string) => (value: string) => unknown

/**
 * Every connection through one door: what is wrong with the server becomes a 503, and texts are made fit for it. The pool
 * is ended by its owner.
 */
function over(pool: pg.Pool, admit: () => void): Database {
  async function connect(): Promise<PostgresPoolClient> {
    admit()
    const client = await pool.connect().catch(refused)
    const query = (text: string, values: readonly unknown[]) => client.query(text, values.map(fit)).catch(refused)
    return { query, release: (destroy?: boolean) => client.release(destroy) } as unknown as PostgresPoolClient
  }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: { connect, end: async () => {}, options: {} } }) })
}

/** PostgreSQL has no text with a NUL in it. */
function fit(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

function refused(error: unknown): never {
  throw isAway(error) ? away(reasonOf(error)) : error
}

/** What the server says of itself has a severity; all else is the way to it. */
function isAway(error: unknown): boolean {
  const { severity, code = '' } = error as { severity?: string; code?: string }
  return severity === undefined || /^(08|53|57)/.test(code) || code === '25006'
}

function away(why: string | undefined): HttpProblem {
  return new HttpProblem(503, `the database of the inventory does not answer: ${why}`)
}

/** Several addresses of one name fail as one error without a message of its own. */
function reasonOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : messageOf(error)
}

/** Without user and password. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
