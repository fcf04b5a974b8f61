/**
 * The programs of the cloud in their order: database and broker, Keystone, then all that logs in to Keystone.
 */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { request } from 'undici'
import { type Daemon, startDaemon, waitForAnswer } from '../process.ts'
import { host, type Places, passwords, ports, urlOf } from './addresses.ts'
import { databases, rabbitmqEnvironment } from './configuration.ts'
import { type Programs, python } from './programs.ts'

export type Part =
  | 'mariadb'
  | 'epmd'
  | 'rabbitmq'
  | 'keystone'
  | 'placement'
  | 'glance'
  | 'neutron'
  | 'l2-agent'
  | 'nova-api'
  | 'nova-conductor'
  | 'nova-scheduler'
  | 'nova-compute'

export interface Parts {
  mariadb(): Promise<void>
  broker(): Promise<void>
  keystone(): Promise<void>
  /** Neutron, Nova and what Nova needs; they end at once when their accounts are not known to Keystone. */
  services(): Promise<void>
  stop(...only: Part[]): Promise<void>
  /** The last resort, for a state that nobody needs again. */
  kill(): Promise<void>
}

/** A machine under load takes minutes for what takes seconds on an idle one. */
const within = 240_000

export function cleanEnvironment(): Record<string, string> {
  const proxies = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap(name => [name, name.toUpperCase()])
  return {
    ...Object.fromEntries([...proxies, 'PYTHONPATH', 'PYTHONHOME'].map(name => [name, ''])),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    no_proxy: '*',
    PYTHONWARNINGS: 'ignore',
    LC_ALL: 'C.UTF-8',
  }
}

export function createParts(places: Places, programs: Programs): Parts {
  const running = new Map<Part, Daemon>()
  const conf = (name: string) => join(places.etc, name)
  const log = (name: string) => join(places.log, `${name}.out`)

  function start(part: Part, command: string, args: readonly string[], env: Record<string, string> = {}): Daemon {
    const daemon = startDaemon(command, args, {
      log: log(part),
      cwd: places.tmp,
      env: { ...cleanEnvironment(), ...env },
      group: true,
    })
    running.set(part, daemon)
    return daemon
  }

  /** The workers of uWSGI as Debian's own services set them: a short buffer would refuse long requests. */
  const wsgi = (part: 'keystone' | 'placement', file: string, env: Record<string, string>) =>
    start(
      part,
      programs.uwsgi,
      [
        ...['--plugin', 'python3', '--http-socket', `${host}:${ports[part]}`, '--wsgi-file', file],
        ...['--processes', '1', '--enable-threads', '--buffer-size', '65535', '--need-app', '--disable-logging'],
        ...['--add-header', 'Connection: close'],
      ],
      env,
    )
  const module = (part: Part, from: string, ...args: string[]) =>
    start(part, python, ['-c', `import sys; sys.argv[0] = '${part}'; from ${from} import main; main()`, ...args])
  const nova = (part: Part, from: string) =>
    module(part, `nova.cmd.${from}`, '--config-file', conf('nova.conf'), '--log-file', `${part}.log`)
  const serves = (part: 'keystone' | 'neutron' | 'placement' | 'glance', daemon: Daemon, path = '/') =>
    waitForAnswer(part, daemon, () => hears(`${urlOf(part)}${path}`), within)

  return {
    async mariadb() {
      const sql = [
        ...databases.map(name => `CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb3;`),
        `CREATE USER IF NOT EXISTS 'openstack'@'%' IDENTIFIED BY '${passwords.database}';`,
        "GRANT ALL ON *.* TO 'openstack'@'%';",
      ]
      await writeFile(conf('databases.sql'), `${sql.join('\n')}\n`, { mode: 0o600 })
      const daemon = start('mariadb', programs.mariadb, [
        ...['--no-defaults', '--user=root', `--datadir=${join(places.state, 'mysql')}`],
        // Beside its data, and named so: a whole path may be too long for a socket.
        ...['--socket=mariadb.sock', `--pid-file=${join(places.run, 'mariadb.pid')}`],
        ...[`--bind-address=${host}`, `--port=${ports.mariadb}`, `--init-file=${conf('databases.sql')}`],
        ...['--skip-name-resolve', '--skip-log-bin', '--character-set-server=utf8mb3', '--max-connections=400'],
        // Nothing of it has to survive a crash.
        ...['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0', '--innodb-log-file-size=16M'],
        ...['--innodb-buffer-pool-size=128M', '--performance-schema=OFF', `--tmpdir=${places.tmp}`],
      ])
      await waitForAnswer('mariadb', daemon, () => greets(ports.mariadb), within)
    },

    async broker() {
      const env = rabbitmqEnvironment(places)
      for (const dir of [env['HOME'], env['RABBITMQ_MNESIA_BASE'], env['RABBITMQ_LOG_BASE']])
        await mkdir(dir ?? '', { recursive: true })
      start('epmd', programs.epmd, ['-address', host, '-port', String(ports.epmd)])
      const daemon = start('rabbitmq', programs.rabbitmq, [], env)
      await waitForAnswer('rabbitmq', daemon, () => greets(ports.rabbit, 'AMQP\0\0\u0009\u0001'), within)
    },

    async keystone() {
      const daemon = wsgi('keystone', programs.keystoneWsgi, { OS_KEYSTONE_CONFIG_FILES: conf('keystone.conf') })
      await serves('keystone', daemon, '/v3')
    },

    async services() {
      await rm(join(places.run, 'l2-agent.ready'), { force: true })
      const neutron = start('neutron', python, [programs.neutronServer, '--config-file', conf('neutron.conf')])
      const api = nova('nova-api', 'api_os_compute')
      const placement = wsgi('placement', programs.placementWsgi, { OS_PLACEMENT_CONFIG_DIR: conf('placement') })
      nova('nova-conductor', 'conductor')
      nova('nova-scheduler', 'scheduler')
      nova('nova-compute', 'compute')
      const agent = start(
        'l2-agent',
        python,
        [
          ...[join(import.meta.dirname, 'l2-agent.py'), '--config-file', conf('neutron.conf')],
          ...['--log-file', 'l2-agent.log'],
        ],
        { HOLD: holdFile(places), READY: join(places.run, 'l2-agent.ready') },
      )
      const glance = module('glance', 'glance.cmd.api', '--config-file', conf('glance.conf'))
      await Promise.all([
        serves('neutron', neutron),
        serves('placement', placement),
        serves('glance', glance),
        waitForAnswer('nova-api', api, () => hears(urlOf('nova')), within),
        waitForAnswer('the layer 2 agent', agent, async () => agentIsKnown(places), within),
      ])
    },

    async stop(...only) {
      const parts = only.length > 0 ? only : [...running.keys()]
      const last: Part[] = ['mariadb', 'rabbitmq', 'epmd']
      await Promise.all(parts.filter(part => !last.includes(part)).map(part => running.get(part)?.stop()))
      for (const part of last) if (parts.includes(part)) await running.get(part)?.stop()
      for (const part of parts) running.delete(part)
    },

    async kill() {
      await Promise.all([...running.values()].map(daemon => daemon.stop('SIGKILL')))
      running.clear()
    },
  }
}

export function holdFile(places: Places): string {
  return join(places.run, 'l2-agent.hold')
}

function agentIsKnown(places: Places): void {
  if (!existsSync(join(places.run, 'l2-agent.ready'))) throw new Error('Neutron does not know it yet')
}

async function hears(url: string): Promise<void> {
  const { statusCode, body } = await request(url, { headersTimeout: 5_000, bodyTimeout: 5_000 })
  await body.dump()
  if (![200, 300, 401].includes(statusCode)) throw new Error(`GET ${url}: ${statusCode}`)
}

/** Waits for the first word of a server, after ours if it is the one to wait. */
function greets(port: number, hello?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 3_000 })
    if (hello !== undefined) socket.write(hello, 'latin1')
    const end = (settle: () => void) => {
      socket.destroy()
      settle()
    }
    socket.once('data', () => end(resolve))
    socket.once('timeout', () => end(() => reject(new Error(`nothing is heard from port ${port}`))))
    socket.once('close', () => reject(new Error(`port ${port} closes without a word`)))
    socket.once('error', error => end(() => reject(error)))
  })
}
