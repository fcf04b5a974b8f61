/**
 * A real PostgreSQL from the distribution's packages, in a directory of its own. It sorts texts as a language does, not by
 * bytes, as many installations do.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { currentIsolation } from '../isolation.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface Postgres {
  /** A new database, empty; its address. */
  database(name: string): Promise<string>
  password: string
  /** From now on it speaks TLS too; the file of the certificate that it is to be trusted by. */
  encrypt(): Promise<string>
  /** kill -9 of the server and all that it started. */
  kill(): Promise<void>
  start(): Promise<void>
  /** All of one database, copied into another that is empty, by pg_dump as people use it. */
  copy(from: string, to: string): Promise<void>
  /** Runs one statement as the owner of everything. */
  query(text: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

const port = 5432
const place = '/run/multinic-postgres'
const password = 'a p@ss/word:of#the?rig'

export async function startPostgres(): Promise<Postgres> {
  currentIsolation()
  const programs = programsOf()
  // It refuses to run as root, and must reach its files: a file system of its own, that goes with the world.
  await mkdir(place, { recursive: true })
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'postgres', place])
  await run('chown', ['postgres', place])
  const [data, passwordFile] = [join(place, 'data'), join(place, 'password')]
  await asPostgres('sh', ['-c', `umask 077; cat > ${passwordFile}`], password)
  await asPostgres(join(programs, 'initdb'), [
    ...['--pgdata', data, '--auth', 'scram-sha-256', `--pwfile=${passwordFile}`, '--username', 'postgres'],
    ...['--encoding', 'UTF8', '--locale', 'C.UTF-8', '--locale-provider', 'icu', '--icu-locale', 'en-US'],
  ])
  const address = (name: string) =>
    `postgresql://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(name)}`
  let daemon: Daemon | undefined

  async function start(): Promise<void> {
    const options = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', place]
    const command = ['--reuid=postgres', '--regid=postgres', '--init-groups', join(programs, 'postgres'), ...options]
    daemon = startDaemon('setpriv', command, { log: join(place, 'log'), group: true })
    await waitForAnswer('PostgreSQL', daemon, () => query('select 1'))
  }

  async function query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: address('postgres') })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  await start()
  return {
    password,
    start,
    query,
    async database(name) {
      await query(`create database "${name}"`)
      return address(name)
    },
    async encrypt() {
      const [key, certificate] = [join(data, 'server.key'), join(data, 'server.crt')]
      const name = ['-subj', '/CN=postgres', '-addext', 'subjectAltName=IP:127.0.0.1']
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
      await asPostgres('openssl', [...made, ...name])
      await query('alter system set ssl = on')
      await query('select pg_reload_conf()')
      return certificate
    },
    async copy(from, to) {
      const file = join(place, 'copy.sql')
      await run(join(programs, 'pg_dump'), ['--file', file, from])
      await run(join(programs, 'psql'), ['--quiet', '--set', 'ON_ERROR_STOP=1', '--file', file, to])
    },
    async kill() {
      await daemon?.stop('SIGKILL')
      // What it left says that it still runs, until the kernel has ended the last of its processes.
      while ((await promisify(execFile)('pgrep', ['-u', 'postgres', '-f', data]).catch(() => undefined)) !== undefined)
        await sleep(20)
    },
    async close() {
      await daemon?.stop('SIGINT')
      await run('umount', ['-l', place])
    },
  }
}

/** Not in everybody's PATH. */
function programsOf(): string {
  const found = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1)
  if (!found) throw new Error('PostgreSQL is not on this machine: scripts/provision.sh postgres')
  return dirname(found)
}

function asPostgres(command: string, args: readonly string[], input?: string) {
  const as = ['--reuid=postgres', '--regid=postgres', '--init-groups', command]
  return run('setpriv', [...as, ...args], input === undefined ? {} : { input })
}
