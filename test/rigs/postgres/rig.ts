/**
 * A real PostgreSQL from the distribution's packages, in its own directory. It uses a language collation instead of byte
 * order, like many installations.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { currentIsolation } from '../isolation.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface Postgres {
  /** Creates an empty database and returns its URL. */
  database(name: string): Promise<string>
  password: string
  /** Enables TLS and returns the file of its certificate. */
  encrypt(): Promise<string>
  /** Kills the server and its processes with SIGKILL. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Copies a database into an empty one with pg_dump. */
  copy(from: string, to: string): Promise<void>
  /** Runs a statement as superuser. */
  query(text: string): Promise<Record<string, unknown>[]>
  /** What the server printed. */
  log(): Promise<string>
  close(): Promise<void>
}

const port = 5432
const directory = '/run/multinic-postgres'
const password = 'a p@ss/word:of#the?rig'

export async function startPostgres(): Promise<Postgres> {
  currentIsolation()
  const programs = programsOf()
  // PostgreSQL does not run as root and must be able to read its files: a tmpfs that disappears with the isolation.
  await mkdir(directory, { recursive: true })
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'postgres', directory])
  await run('chown', ['postgres', directory])
  const [data, passwordFile] = [join(directory, 'data'), join(directory, 'password')]
  await asPostgres('sh', ['-c', `umask 077; cat > ${passwordFile}`], password)
  await asPostgres(join(programs, 'initdb'), [
    ...['--pgdata', data, '--auth', 'scram-sha-256', `--pwfile=${passwordFile}`, '--username', 'postgres'],
    ...['--encoding', 'UTF8', '--locale', 'C.UTF-8', '--locale-provider', 'icu', '--icu-locale', 'en-US'],
  ])
  const address = (name: string) =>
    `postgresql://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(name)}`
  let daemon: Daemon | undefined

  async function start(): Promise<void> {
    const options = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory]
    const command = ['--reuid=postgres', '--regid=postgres', '--init-groups', join(programs, 'postgres'), ...options]
    daemon = startDaemon('setpriv', command, { log: join(directory, 'log'), group: true })
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
    log: () => readFile(join(directory, 'log'), 'utf8'),
    async database(name) {
      await query(`create database "${name}"`)
      return address(name)
    },
    async encrypt() {
      const [key, certificate] = [join(data, 'server.key'), join(data, 'server.crt')]
      const name = ['-subj', '/CN=postgres', '-addext', 'subjectAltName=IP:127.0.0.1']
      const request = [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        key,
        '-out',
        certificate,
      ]
      await asPostgres('openssl', [...request, ...name])
      await query('alter system set ssl = on')
      await query('select pg_reload_conf()')
      return certificate
    },
    async copy(from, to) {
      const file = join(directory, 'copy.sql')
      await run(join(programs, 'pg_dump'), ['--file', file, from])
      await run(join(programs, 'psql'), ['--quiet', '--set', 'ON_ERROR_STOP=1', '--file', file, to])
    },
    async kill() {
      await daemon?.stop('SIGKILL')
      // A restart fails until the last of its processes has ended. Their titles do not name the data directory.
      while ((await promisify(execFile)('pgrep', ['-u', 'postgres']).catch(() => undefined)) !== undefined)
        await sleep(20)
    },
    async close() {
      await daemon?.stop('SIGINT')
      await run('umount', ['-l', directory])
    },
  }
}

/** Directory of the programs, which is usually not in the PATH. */
function programsOf(): string {
  const found = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1)
  if (!found) throw new Error('PostgreSQL is not installed: run scripts/provision.sh postgres')
  return dirname(found)
}

function asPostgres(command: string, args: readonly string[], input?: string) {
  const user = ['--reuid=postgres', '--regid=postgres', '--init-groups', command]
  return run('setpriv', [...user, ...args], input === undefined ? {} : { input })
}
