/**
 * The processes of the cloud in their order: database and broker, Keystone, then the services that log in to Keystone.
 */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { request } from 'undici'
import { type Daemon, startDaemon, waitForAnswer } from '../process.ts'
import { type Directories, host, passwords, ports, urlOf } from './addresses.ts'
import { databases, rabbitmqEnvironment } from './configuration.ts'
import { prepareHypervisor, virsh } from './hypervisor.ts'
import { type Programs, python } from './programs.ts'

export type ProcessName =
  | 'mariadb'
  | 'epmd'
  | 'rabbitmq'
  | 'keystone'
  | 'placement'
  | 'glance'
  | 'neutron'
  | 'l2-agent'
  | 'libvirtd'
  | 'nova-api'
  | 'nova-conductor'
  | 'nova-scheduler'
  | 'nova-compute'

export interface CloudProcesses {
  mariadb(): Promise<void>
  broker(): Promise<void>
  keystone(): Promise<void>
  /** Neutron, Nova and their dependencies. They exit at once if Keystone does not have their accounts. */
  services(): Promise<void>
  stop(...only: ProcessName[]): Promise<void>
  /** Kills all processes; their state is lost. */
  kill(): Promise<void>
}

/** A loaded machine needs minutes instead of seconds. */
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

export function createProcesses(directories: Directories, programs: Programs, hypervisor: boolean): CloudProcesses {
  const running = new Map<ProcessName, Daemon>()
  const conf = (name: string) => join(directories.etc, name)
  const log = (name: string) => join(directories.log, `${name}.out`)

  function start(
    name: ProcessName,
    command: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ): Daemon {
    const daemon = startDaemon(command, args, {
      log: log(name),
      cwd: directories.tmp,
      env: { ...cleanEnvironment(), ...env },
      group: true,
    })
    running.set(name, daemon)
    return daemon
  }

  /** uWSGI with the settings of Debian's services: a smaller buffer would refuse long requests. */
  const wsgi = (name: 'keystone' | 'placement', file: string, env: Record<string, string>) =>
    start(
      name,
      programs.uwsgi,
      [
        ...['--plugin', 'python3', '--http-socket', `${host}:${ports[name]}`, '--wsgi-file', file],
        ...['--processes', '1', '--enable-threads', '--buffer-size', '65535', '--need-app', '--disable-logging'],
        ...['--add-header', 'Connection: close'],
      ],
      env,
    )
  const module = (name: ProcessName, from: string, ...args: string[]) =>
    start(name, python, ['-c', `import sys; sys.argv[0] = '${name}'; from ${from} import main; main()`, ...args])
  const nova = (name: ProcessName, from: string) =>
    module(name, `nova.cmd.${from}`, '--config-file', conf('nova.conf'), '--log-file', `${name}.log`)
  const waitForService = (name: 'keystone' | 'neutron' | 'placement' | 'glance', daemon: Daemon, path = '/') =>
    waitForAnswer(name, daemon, () => checkUrl(`${urlOf(name)}${path}`), within)

  /** Sets ports to ACTIVE without a data plane. */
  const stubAgent = async () => {
    await rm(join(directories.run, 'l2-agent.ready'), { force: true })
    const agent = start(
      'l2-agent',
      python,
      [
        ...[join(import.meta.dirname, 'l2-agent.py'), '--config-file', conf('neutron.conf')],
        ...['--log-file', 'l2-agent.log'],
      ],
      { HOLD: holdFile(directories), READY: join(directories.run, 'l2-agent.ready') },
    )
    await waitForAnswer('the layer 2 agent', agent, async () => checkAgent(directories), within)
  }
  /** The rig asks Neutron for it later. */
  const bridgeAgent = () => {
    const from = 'neutron.cmd.eventlet.plugins.linuxbridge_neutron_agent'
    module('l2-agent', from, '--config-file', conf('neutron.conf'), '--log-file', 'l2-agent.log')
  }
  const libvirt = async () => {
    const daemon = start('libvirtd', '/usr/sbin/libvirtd', await prepareHypervisor(directories))
    await waitForAnswer('libvirtd', daemon, () => virsh('version'), within)
  }

  return {
    async mariadb() {
      const sql = [
        ...databases.map(name => `CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb3;`),
        `CREATE USER IF NOT EXISTS 'openstack'@'%' IDENTIFIED BY '${passwords.database}';`,
        "GRANT ALL ON *.* TO 'openstack'@'%';",
      ]
      await writeFile(conf('databases.sql'), `${sql.join('\n')}\n`, { mode: 0o600 })
      const daemon = start('mariadb', programs.mariadb, [
        ...['--no-defaults', '--user=root', `--datadir=${join(directories.state, 'mysql')}`],
        // A relative name: the full path may be too long for a socket.
        ...['--socket=mariadb.sock', `--pid-file=${join(directories.run, 'mariadb.pid')}`],
        ...[`--bind-address=${host}`, `--port=${ports.mariadb}`, `--init-file=${conf('databases.sql')}`],
        ...['--skip-name-resolve', '--skip-log-bin', '--character-set-server=utf8mb3', '--max-connections=400'],
        // The data does not have to survive a crash.
        ...['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0', '--innodb-log-file-size=16M'],
        ...['--innodb-buffer-pool-size=128M', '--performance-schema=OFF', `--tmpdir=${directories.tmp}`],
      ])
      await waitForAnswer('mariadb', daemon, () => checkPort(ports.mariadb), within)
    },

    async broker() {
      const env = rabbitmqEnvironment(directories)
      for (const dir of [env['HOME'], env['RABBITMQ_MNESIA_BASE'], env['RABBITMQ_LOG_BASE']])
        await mkdir(dir ?? '', { recursive: true })
      start('epmd', programs.epmd, ['-address', host, '-port', String(ports.epmd)])
      const daemon = start('rabbitmq', programs.rabbitmq, [], env)
      await waitForAnswer('rabbitmq', daemon, () => checkPort(ports.rabbit, 'AMQP\0\0\u0009\u0001'), within)
    },

    async keystone() {
      const daemon = wsgi('keystone', programs.keystoneWsgi, { OS_KEYSTONE_CONFIG_FILES: conf('keystone.conf') })
      await waitForService('keystone', daemon, '/v3')
    },

    async services() {
      if (hypervisor) await libvirt()
      const neutron = start('neutron', python, [programs.neutronServer, '--config-file', conf('neutron.conf')])
      const api = nova('nova-api', 'api_os_compute')
      const placement = wsgi('placement', programs.placementWsgi, { OS_PLACEMENT_CONFIG_DIR: conf('placement') })
      nova('nova-conductor', 'conductor')
      nova('nova-scheduler', 'scheduler')
      nova('nova-compute', 'compute')
      const glance = module('glance', 'glance.cmd.api', '--config-file', conf('glance.conf'))
      await Promise.all([
        waitForService('neutron', neutron),
        waitForService('placement', placement),
        waitForService('glance', glance),
        waitForAnswer('nova-api', api, () => checkUrl(urlOf('nova')), within),
        hypervisor ? bridgeAgent() : stubAgent(),
      ])
    },

    async stop(...only) {
      const names = only.length > 0 ? only : [...running.keys()]
      const last: ProcessName[] = ['mariadb', 'rabbitmq', 'epmd']
      await Promise.all(names.filter(name => !last.includes(name)).map(name => running.get(name)?.stop()))
      for (const name of last) if (names.includes(name)) await running.get(name)?.stop()
      for (const name of names) running.delete(name)
    },

    async kill() {
      await Promise.all([...running.values()].map(daemon => daemon.stop('SIGKILL')))
      running.clear()
    },
  }
}

export function holdFile(directories: Directories): string {
  return join(directories.run, 'l2-agent.hold')
}

function checkAgent(directories: Directories): void {
  if (!existsSync(join(directories.run, 'l2-agent.ready'))) throw new Error('Neutron does not know the agent')
}

async function checkUrl(url: string): Promise<void> {
  const { statusCode, body } = await request(url, { headersTimeout: 5_000, bodyTimeout: 5_000 })
  await body.dump()
  if (![200, 300, 401].includes(statusCode)) throw new Error(`GET ${url}: ${statusCode}`)
}

/** Waits for the first bytes of a server, after a greeting if the server waits for one. */
function checkPort(port: number, greeting?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 3_000 })
    if (greeting !== undefined) socket.write(greeting, 'latin1')
    const end = (settle: () => void) => {
      socket.destroy()
      settle()
    }
    socket.once('data', () => end(resolve))
    socket.once('timeout', () => end(() => reject(new Error(`no data from port ${port}`))))
    socket.once('close', () => reject(new Error(`port ${port} closed the connection without data`)))
    socket.once('error', error => end(() => reject(error)))
  })
}
