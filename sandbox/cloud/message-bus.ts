/**
 * The message bus of a sandbox: a RabbitMQ by its URL, or `local` to start one. The simulated cloud sends its notifications
 * there, and Contrabass returns its address.
 */
import { randomBytes } from 'node:crypto'
import { hostText, parseBusAddresses } from '../../src/openstack/bus-address.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { freeAddresses } from '../lifecycle/components.ts'
import { processMarker, type StateDir } from '../lifecycle/state-dir.ts'
import { applyNotificationFaults } from './notification-faults.ts'
import { startNotifications } from './notifications.ts'
import { type Broker, startBroker } from './rabbitmq.ts'
import type { CloudState } from './state.ts'

export interface MessageBus {
  /** Only of a local broker. `start` continues with the durable data. */
  broker?: { kill(): Promise<void>; start(): Promise<void> }
  close(): Promise<void>
}

export async function startMessageBus(
  urlOrLocal: string,
  state: StateDir,
  cloudState: CloudState,
  log: Log,
): Promise<MessageBus> {
  const local = urlOrLocal === 'local' ? await startLocal(state) : undefined
  try {
    const url = local?.url ?? urlOrLocal
    cloudState.bus = accountOf(url)
    const notifications = await startNotifications(cloudState, {
      url,
      log,
      intercept: applyNotificationFaults(() => cloudState.faults.notifications),
    })
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

function accountOf(url: string): NonNullable<CloudState['bus']> {
  const read = parseBusAddresses([url])
  if ('error' in read) throw new Error(`--rabbitmq: ${read.error}`)
  const { hosts, vhost, user, password } = read
  if (user === undefined || password === undefined)
    throw new Error('--rabbitmq: user and password are missing, as in amqp://user:password@host:5672/')
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
      env: { [processMarker]: state.dir },
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
