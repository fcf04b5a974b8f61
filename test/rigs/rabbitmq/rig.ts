/**
 * A real RabbitMQ for tests, from the system's package. A test can kill and restart it and change its passwords.
 *
 * Requires isolation (isolation.ts), because it listens on the standard ports.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from 'rabbitmq-client'
import { type Broker, startBroker } from '../../../sandbox/cloud/rabbitmq.ts'
import { currentIsolation } from '../isolation.ts'
import { run } from '../process.ts'

export interface RabbitMq {
  host: string
  port: number
  tlsPort: number
  user: string
  password: string
  url: string
  /** PEM of the CA of its certificate. */
  ca: string
  control(...args: string[]): Promise<string>
  /** Opens a connection for the test. */
  connect(): Connection
  /** Kills it with SIGKILL. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

const ports = { amqp: 5672, tls: 5671, node: 25672, names: 4369 }
const account = { user: 'openstack', password: 'rabbit-secret' }

/** `address` is where it listens; the certificate names the loopback address only. */
export async function startRabbitMq({ address: host = '127.0.0.1' } = {}): Promise<RabbitMq> {
  currentIsolation()
  const dir = await mkdtemp(join(tmpdir(), 'rabbitmq-'))
  const tls = await certificates(join(dir, 'tls'))
  const url = `amqp://${account.user}:${account.password}@${host}:${ports.amqp}/`
  let broker: Broker | undefined
  const start = async () => {
    broker = await startBroker({ dir, address: host, ports, ...account, tls: tls.files })
  }
  await start()
  return {
    host,
    port: ports.amqp,
    tlsPort: ports.tls,
    ...account,
    url,
    ca: tls.ca,
    control: (...args) => broker?.control(...args) ?? Promise.reject(new Error('the broker is down')),
    connect() {
      const connection = new Connection({ url, retryLow: 100, retryHigh: 1_000 })
      connection.on('error', () => {})
      return connection
    },
    kill: async () => broker?.stop('SIGKILL'),
    start,
    async close() {
      await broker?.stop('SIGKILL')
      await rm(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function certificates(dir: string) {
  await mkdir(dir)
  const at = (name: string) => join(dir, name)
  const openssl = (...args: string[]) => run('openssl', args)
  await openssl(
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=rig authority', '-keyout', at('ca.key'), '-out', at('ca.pem')],
  )
  await openssl(
    ...['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'],
    ...['-keyout', at('server.key'), '-out', at('server.csr')],
  )
  await writeFile(at('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
  await openssl(
    ...['x509', '-req', '-in', at('server.csr'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial'],
    ...['-days', '2', '-extfile', at('names'), '-out', at('server.pem')],
  )
  const { stdout } = await run('cat', [at('ca.pem')])
  return { ca: stdout, files: { ca: at('ca.pem'), cert: at('server.pem'), key: at('server.key') } }
}
