/**
 * Starts a RabbitMQ from the system package (`rabbitmq-server`) as a normal process with its own directory, node name, cookie
 * and ports, on the loopback address unless another one is given. It shares nothing with the broker service of the machine.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run, systemPath } from '../exec.ts'

export interface BrokerConf {
  /** Listen address. Default: loopback. */
  address?: string
  ports: { amqp: number; tls?: number }
  user: string
  password: string
  tls?: { ca: string; cert: string; key: string }
}

export interface BrokerOptions extends BrokerConf {
  /** Durable data survives a restart with the same directory. */
  dir: string
  /** `node` is the Erlang distribution port, `names` the port of epmd. */
  ports: { amqp: number; tls?: number; node: number; names: number }
  /** Environment that marks its processes. */
  env?: Record<string, string>
}

export interface Broker {
  pid: number
  /** Runs rabbitmqctl for this broker. */
  control(...args: string[]): Promise<string>
  stop(signal?: NodeJS.Signals): Promise<void>
}

const host = '127.0.0.1'
const programs = '/usr/lib/rabbitmq/bin'
const startTimeoutMs = 240_000

/** Why a broker cannot be started on this machine; undefined if it can. */
export function brokerUnavailable(): string | undefined {
  return existsSync(join(programs, 'rabbitmq-server'))
    ? undefined
    : 'RabbitMQ is not installed; as root: apt-get install rabbitmq-server (its service need not run)'
}

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const unavailable = brokerUnavailable()
  if (unavailable) throw new Error(unavailable)
  const { dir, ports, address = host } = options
  const log = join(dir, 'broker.out')
  const env = { PATH: systemPath, LC_ALL: 'C.UTF-8', ...options.env, ...environmentOf(options) }
  await writeFiles(options)
  const names = start('epmd', ['-address', host, '-port', String(ports.names)], { env, log })
  const server = start(join(programs, 'rabbitmq-server'), [], { env, log })
  const broker: Broker = {
    pid: server.pid ?? 0,
    control: (...args) => run(join(programs, 'rabbitmqctl'), ['--quiet', ...args], { env }),
    async stop(signal = 'SIGTERM') {
      await terminate(server, signal)
      await terminate(names, 'SIGKILL')
    },
  }
  try {
    await waitForGreeting(server, { host: address, port: ports.amqp }, log)
    return broker
  } catch (error) {
    await broker.stop('SIGKILL')
    throw error
  }
}

async function writeFiles(options: BrokerOptions): Promise<void> {
  const { dir } = options
  for (const name of ['home', 'mnesia', 'log']) await mkdir(join(dir, name), { recursive: true })
  const cookie = join(dir, 'home', '.erlang.cookie')
  if (!existsSync(cookie)) await writeFile(cookie, randomBytes(16).toString('hex'), { mode: 0o400 })
  await writeFile(join(dir, 'rabbitmq.conf'), brokerConf(options), { mode: 0o600 })
  await writeFile(join(dir, 'enabled_plugins'), '[].\n')
  await writeFile(join(dir, 'rabbitmq-env.conf'), '')
}

/** The text of rabbitmq.conf: one administrator account, on one address. */
export function brokerConf({ address = host, ports, user, password, tls }: BrokerConf): string {
  const settings: Record<string, string | number | boolean> = {
    'listeners.tcp.1': `${address}:${ports.amqp}`,
    default_user: user,
    default_pass: password,
    'default_permissions.configure': '.*',
    'default_permissions.read': '.*',
    'default_permissions.write': '.*',
    'default_user_tags.administrator': true,
    'log.console': false,
    'log.file.level': 'info',
    'disk_free_limit.absolute': '50MB',
    ...(tls && {
      'listeners.ssl.1': `${address}:${ports.tls}`,
      'ssl_options.cacertfile': tls.ca,
      'ssl_options.certfile': tls.cert,
      'ssl_options.keyfile': tls.key,
      'ssl_options.verify': 'verify_none',
    }),
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`)
  return `${lines.join('\n')}\n`
}

/** With RUNNING_UNDER_SYSTEMD the start script execs the server instead of waiting for it. */
function environmentOf({ dir, ports }: BrokerOptions): Record<string, string> {
  return {
    HOME: join(dir, 'home'),
    ERL_EPMD_ADDRESS: host,
    ERL_EPMD_PORT: String(ports.names),
    RABBITMQ_NODENAME: `multinic-${ports.amqp}@localhost`,
    RABBITMQ_DIST_PORT: String(ports.node),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'rabbitmq-env.conf'),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_PID_FILE: join(dir, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
      '-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none',
    RUNNING_UNDER_SYSTEMD: '1',
  }
}

function start(program: string, args: string[], { env, log }: { env: Record<string, string>; log: string }) {
  const output = openSync(log, 'a')
  // Own process group: a signal must reach the processes that it starts, too.
  const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true })
  closeSync(output)
  child.once('error', () => {}) // waitForGreeting detects the missing process
  child.unref()
  return child
}

function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

async function terminate(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const until = performance.now() + 10_000
  for (let name = signal; isAlive(child); name = performance.now() > until ? 'SIGKILL' : name) {
    try {
      process.kill(-(child.pid ?? 0), name)
    } catch {
      // The process has exited meanwhile.
    }
    await sleep(50)
  }
}

/** Waits for a reply to the AMQP protocol header: the TCP port is open before the broker is ready. */
async function waitForGreeting(server: ChildProcess, at: Listener, log: string): Promise<void> {
  const until = performance.now() + startTimeoutMs
  while (isAlive(server) && performance.now() < until) {
    if (await answersAmqp(at)) return
    await sleep(100)
  }
  const lastLines = (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-20).join('\n')
  throw new Error(`RabbitMQ ${isAlive(server) ? 'does not answer' : 'exited'}; its log ends with:\n${lastLines}`)
}

interface Listener {
  host: string
  port: number
}

function answersAmqp(at: Listener): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ ...at, timeout: 3_000 })
    const finish = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.write('AMQP\0\0\u0009\u0001', 'latin1')
    socket.once('data', () => finish(true))
    socket.once('timeout', () => finish(false))
    socket.once('error', () => finish(false))
    socket.once('close', () => finish(false))
  })
}
