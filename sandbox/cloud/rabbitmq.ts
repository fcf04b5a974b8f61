/**
 * A RabbitMQ of one's own from the system's package (`rabbitmq-server`): an ordinary process with its own directory, node
 * name, cookie and ports, all on the loopback address. It shares nothing with a broker that the machine may run.
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
  ports: { amqp: number; tls?: number }
  user: string
  password: string
  tls?: { ca: string; cert: string; key: string }
}

export interface BrokerOptions extends BrokerConf {
  /** Kept between starts: what is durable survives. */
  dir: string
  /** AMQP, then the ones that its parts find each other by. */
  ports: { amqp: number; tls?: number; node: number; names: number }
  /** Variables by which its processes are known. */
  env?: Record<string, string>
}

export interface Broker {
  pid: number
  /** rabbitmqctl of this broker. */
  control(...args: string[]): Promise<string>
  stop(signal?: NodeJS.Signals): Promise<void>
}

const host = '127.0.0.1'
const programs = '/usr/lib/rabbitmq/bin'
const startsWithinMs = 240_000

/** Why there can be no broker on this machine, or undefined. */
export function brokerRefused(): string | undefined {
  return existsSync(join(programs, 'rabbitmq-server'))
    ? undefined
    : 'RabbitMQ is not installed; as root: apt-get install rabbitmq-server (its service need not run)'
}

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const refused = brokerRefused()
  if (refused) throw new Error(refused)
  const { dir, ports } = options
  const log = join(dir, 'broker.out')
  const env = { PATH: systemPath, LC_ALL: 'C.UTF-8', ...options.env, ...environmentOf(options) }
  await layOut(options)
  const names = start('epmd', ['-address', host, '-port', String(ports.names)], { env, log })
  const server = start(join(programs, 'rabbitmq-server'), [], { env, log })
  const broker: Broker = {
    pid: server.pid ?? 0,
    control: (...args) => run(join(programs, 'rabbitmqctl'), ['--quiet', ...args], { env }),
    async stop(signal = 'SIGTERM') {
      await ended(server, signal)
      await ended(names, 'SIGKILL')
    },
  }
  try {
    await greets(server, ports.amqp, log)
    return broker
  } catch (error) {
    await broker.stop('SIGKILL')
    throw error
  }
}

async function layOut(options: BrokerOptions): Promise<void> {
  const { dir } = options
  for (const name of ['home', 'mnesia', 'log']) await mkdir(join(dir, name), { recursive: true })
  const cookie = join(dir, 'home', '.erlang.cookie')
  if (!existsSync(cookie)) await writeFile(cookie, randomBytes(16).toString('hex'), { mode: 0o400 })
  await writeFile(join(dir, 'rabbitmq.conf'), brokerConf(options), { mode: 0o600 })
  await writeFile(join(dir, 'enabled_plugins'), '[].\n')
  await writeFile(join(dir, 'rabbitmq-env.conf'), '')
}

/** The text of rabbitmq.conf: one account that may do everything, on the loopback address only. */
export function brokerConf({ ports, user, password, tls }: BrokerConf): string {
  const settings: Record<string, string | number | boolean> = {
    'listeners.tcp.1': `${host}:${ports.amqp}`,
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
      'listeners.ssl.1': `${host}:${ports.tls}`,
      'ssl_options.cacertfile': tls.ca,
      'ssl_options.certfile': tls.cert,
      'ssl_options.keyfile': tls.key,
      'ssl_options.verify': 'verify_none',
    }),
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`)
  return `${lines.join('\n')}\n`
}

/** RUNNING_UNDER_SYSTEMD: its script then becomes the server instead of staying beside it. */
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
  // It starts processes of its own: a signal is for all of them.
  const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true })
  closeSync(output)
  child.once('error', () => {}) // seen by whoever waits for it
  child.unref()
  return child
}

function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const until = performance.now() + 10_000
  for (let say = signal; isAlive(child); say = performance.now() > until ? 'SIGKILL' : say) {
    try {
      process.kill(-(child.pid ?? 0), say)
    } catch {
      // It has ended meanwhile.
    }
    await sleep(50)
  }
}

/** Its first word after ours; the port alone is open before it listens. */
async function greets(server: ChildProcess, port: number, log: string): Promise<void> {
  const until = performance.now() + startsWithinMs
  while (isAlive(server) && performance.now() < until) {
    if (await heard(port)) return
    await sleep(100)
  }
  const said = (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-20).join('\n')
  throw new Error(`RabbitMQ ${isAlive(server) ? 'does not answer' : 'has ended'}:\n${said}`)
}

function heard(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, timeout: 3_000 })
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.write('AMQP\0\0\u0009\u0001', 'latin1')
    socket.once('data', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
    socket.once('close', () => end(false))
  })
}
