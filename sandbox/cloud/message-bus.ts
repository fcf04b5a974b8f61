/**
 * The message bus of a sandbox: one that a person names, or `local`, a RabbitMQ from the system's package. The simulated
 * cloud sends its notifications there, and Contrabass tells of it.
 */
import { randomBytes } from 'node:crypto'
import { busAddresses, hostText } from '../../src/openstack/bus-address.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { freeAddresses } from '../lifecycle/components.ts'
import { partMark, type StateDir } from '../lifecycle/state-dir.ts'
import { meddling } from './notification-faults.ts'
import { startNotifications } from './notifications.ts'
import { type Broker, startBroker } from './rabbitmq.ts'
import type { World } from './state.ts'

export interface SandboxBus {
  /** Of a broker that is the sandbox's own: kills it, and starts it again from what it had kept. */
  broker?: { kill(): Promise<void>; start(): Promise<void> }
  close(): Promise<void>
}

export async function openBus(wanted: string, state: StateDir, world: World, log: Log): Promise<SandboxBus> {
  const local = wanted === 'local' ? await startLocal(state) : undefined
  try {
    const url = local?.url ?? wanted
    world.bus = accountOf(url)
    const notifications = await startNotifications(world, { url, log, meddle: meddling(() => world.faults.notices) })
    return {
      ...(local && { broker: { kill: () => local.stop('SIGKILL'), start: local.start } }),
      async close() {
        await notifications.close()
        await local?.stop()
      },
    }
  } catch (error) {
    await local?.stop('SIGKILL')
    throw error
  }
}

function accountOf(url: string): NonNullable<World['bus']> {
  const read = busAddresses([url])
  if ('mistake' in read) throw new Error(`--rabbitmq: ${read.mistake}`)
  const { hosts, vhost, user, password } = read
  if (user === undefined || password === undefined)
    throw new Error('--rabbitmq: name the account too, like amqp://user:password@host:5672/')
  const urls = hosts.map(host => `amqp${host.tls ? 's' : ''}://${hostText(host)}/${encodeURIComponent(vhost)}`)
  return { urls, user, password }
}

interface LocalBroker {
  url: string
  start(): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
}

async function startLocal(state: StateDir): Promise<LocalBroker> {
  const [amqp = 0, node = 0, names = 0] = (await freeAddresses(3)).map(address => Number(address.split(':')[1]))
  const account = { user: 'sandbox', password: randomBytes(12).toString('hex') }
  let broker: Broker | undefined
  const start = async () => {
    broker ??= await startBroker({
      dir: state.path('rabbitmq'),
      ports: { amqp, node, names },
      ...account,
      env: { [partMark]: state.dir },
    })
  }
  await start()
  return {
    url: `amqp://${account.user}:${account.password}@127.0.0.1:${amqp}/`,
    start,
    async stop(signal) {
      await broker?.stop(signal)
      broker = undefined
    },
  }
}
