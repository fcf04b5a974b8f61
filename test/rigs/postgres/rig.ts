/**
 * A real PostgreSQL from the distribution's packages, in its own directory. It uses a language collation instead of byte
 * order, like many installations.
 */
import { globSync } from 'node:fs'
import { mkdir, readFile, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { currentIsolation } from '../isolation.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface PostgresOptions {
  /** Listen address. Default: loopback. */
  address?: string
}

export interface Postgres {
  /** Port of the server that is the primary. */
  port(): number
  /** Adds a synchronous standby: from then on, a commit waits until the standby has it. */
  addStandby(): Promise<void>
  /** Makes the standby the primary, after `kill`. Its port is another one. */
  promoteStandby(): Promise<void>
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

const ports = { primary: 5432, standby: 5433 }
const directory = '/run/multinic-postgres'
const password = 'a p@ss/word:of#the?rig'

export async function startPostgres({ address: host = '127.0.0.1' }: PostgresOptions = {}): Promise<Postgres> {
  currentIsolation()
  const programs = programsOf()
  // PostgreSQL does not run as root and must be able to read its files: a tmpfs that disappears with the isolation.
  await mkdir(directory, { recursive: true })
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'postgres', directory])
  await run('chown', ['postgres', directory])
  const passwordFile = join(directory, 'password')
  const data = join(directory, 'data')
  await asPostgres('sh', ['-c', `umask 077; cat > ${passwordFile}`], password)
  await asPostgres(join(programs, 'initdb'), [
    ...['--pgdata', data, '--auth', 'scram-sha-256', `--pwfile=${passwordFile}`, '--username', 'postgres'],
    ...['--encoding', 'UTF8', '--locale', 'C.UTF-8', '--locale-provider', 'icu', '--icu-locale', 'en-US'],
  ])
  const address = (name: string) =>
    `postgresql://postgres:${encodeURIComponent(password)}@${host}:${primary.port}/${encodeURIComponent(name)}`
  // initdb admits loopback addresses only.
  await asPostgres('sh', ['-c', `echo 'host all,replication all 0.0.0.0/0 scram-sha-256' >>${data}/pg_hba.conf`])
  let primary: Server = { port: ports.primary, data }
  let standby: Server | undefined

  function startServer(server: Server): Daemon {
    const options = ['-D', server.data, '-p', String(server.port), '-h', host, '-k', directory]
    const command = ['--reuid=postgres', '--regid=postgres', '--init-groups', join(programs, 'postgres'), ...options]
    server.daemon = startDaemon('setpriv', command, { log: logOf(server), group: true })
    return server.daemon
  }

  async function start(): Promise<void> {
    await waitForAnswer('PostgreSQL', startServer(primary), () => query('select 1'))
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
    port: () => primary.port,
    start,
    query,
    log: () => readFile(logOf(primary), 'utf8'),
    async addStandby() {
      const copy = { port: ports.standby, data: join(directory, 'standby') }
      const from = `${address('postgres')}?application_name=standby`
      const clone = ['--dbname', from, '--pgdata', copy.data, '--write-recovery-conf', '--checkpoint', 'fast']
      await asPostgres(join(programs, 'pg_basebackup'), clone)
      const daemon = startServer(copy)
      await query("alter system set synchronous_standby_names = 'standby'")
      await query('select pg_reload_conf()')
      const isSynchronous = async () => {
        const [row] = await query("select sync_state from pg_stat_replication where application_name = 'standby'")
        if (row?.['sync_state'] !== 'sync') throw new Error(`the state of the standby is ${row?.['sync_state']}`)
      }
      await waitForAnswer('standby', daemon, isSynchronous)
      standby = copy
    },
    async promoteStandby() {
      if (!standby) throw new Error('there is no standby')
      primary = standby
      standby = undefined
      await asPostgres(join(programs, 'pg_ctl'), ['promote', '--wait', '--pgdata', primary.data])
    },
    async database(name) {
      await query(`create database "${name}"`)
      return address(name)
    },
    async encrypt() {
      const [key, certificate] = [join(data, 'server.key'), join(data, 'server.crt')]
      const names = ['DNS:postgres.multinic-system', `IP:${host}`].join()
      const name = ['-subj', '/CN=postgres', '-addext', `subjectAltName=${names}`]
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
      await primary.daemon?.stop('SIGKILL')
      // A restart fails until the last of its processes has ended. Only their working directory names the server.
      while ((await processesIn(primary.data)).length > 0) await sleep(20)
    },
    async close() {
      for (const server of [standby, primary]) await server?.daemon?.stop('SIGINT')
      await run('umount', ['-l', directory])
    },
  }
}

interface Server {
  port: number
  data: string
  daemon?: Daemon
}

const logOf = ({ port }: Server) => join(directory, `log-${port}`)

async function processesIn(dir: string): Promise<string[]> {
  const { stdout } = await run('pgrep', ['-u', 'postgres'], { check: false })
  const pids = stdout.split('\n').filter(pid => pid !== '')
  const places = await Promise.all(pids.map(pid => readlink(`/proc/${pid}/cwd`).catch(() => undefined)))
  return pids.filter((_, index) => places[index] === dir)
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
