/**
 * The test environment of the operator with a real broker. The simulated cloud sends its notifications there, and every
 * delivered node reports Configured, so that only notifications and polls start syncs.
 */
import assert from 'node:assert/strict'
import { type NotificationsOptions, startNotifications } from '../../sandbox/cloud/notifications.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type Port,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { RabbitMq } from '../rigs/rabbitmq/rig.ts'
import { eventually } from '../support/eventually.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'

export interface BrokerEnvironment extends OperatorEnvironment {
  storage: Subnet
  backup: Subnet
  workers: Server[]
  attach(server: Server, subnet: Subnet): Port
  /** Like Nova detaches a port that the user created: the port stays, and its update names no server. */
  detach(port: Port): void
  /** `worker-1: multinic0=10.10.0.10 mtu 9000 …`, one line per node. */
  deliveredLines(): Promise<string[]>
  /** `True EventBusConnected`. */
  condition(type: string): Promise<string>
  /** Waits until every node is configured and the object's status shows it. */
  waitForReady(nodes: number): Promise<void>
  /** Waits until the broker has all notifications. */
  flushNotifications(): Promise<void>
}

export const within = 90_000

export interface BrokerEnvironmentOptions extends Pick<NotificationsOptions, 'intercept'> {
  /** False: the cloud sends no notifications. */
  notifications?: boolean
}

export async function startBrokerEnvironment(
  rabbit: RabbitMq,
  options: BrokerEnvironmentOptions = {},
): Promise<BrokerEnvironment> {
  const { intercept, notifications = true } = options
  const environment = await startOperatorEnvironment()
  const { cloudState } = environment
  const storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const backup = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  const workers = ['worker-1', 'worker-2', 'worker-3'].map(name => addServer(cloudState, name))
  cloudState.bus = {
    urls: [`amqp://${rabbit.host}:${rabbit.port}/`],
    user: rabbit.user,
    password: rabbit.password,
  }
  const publisher = notifications
    ? await startNotifications(cloudState, { url: rabbit.url, log: silent, ...(intercept && { intercept }) })
    : undefined
  const nodes = reportConfigured(environment)

  return {
    ...environment,
    storage,
    backup,
    workers,
    attach(server, subnet) {
      const port = addPort(cloudState, { server, subnet })
      setPortStatus(cloudState, port.id, 'ACTIVE')
      return port
    },
    detach(port) {
      Object.assign(port, { deviceId: '', deviceOwner: '' })
      cloudState.emitPortsChange()
    },
    async deliveredLines() {
      return (await environment.nodes()).map(lineOf).sort()
    },
    async condition(type) {
      const found = (await environment.config()).status?.conditions?.find(one => one.type === type)
      return `${found?.status} ${found?.reason}`
    },
    async waitForReady(count) {
      await eventually(
        async () => assert.equal((await environment.config()).status?.nodes?.ready, `${count}/${count}`),
        {
          within,
        },
      )
    },
    flushNotifications: async () => publisher?.sent(),
    async close() {
      clearInterval(nodes)
      await publisher?.close()
      await environment.close()
    },
  }
}

function lineOf({ spec }: NodeConfig): string {
  const nics = spec.interfaces.map(({ name, address, mtu }) => `${name}=${address} mtu ${mtu}`)
  return [`${spec.nodeName}:`, ...nics].join(' ')
}

/** Replaces the nodes: reports Configured shortly after each delivery. */
function reportConfigured(environment: OperatorEnvironment): NodeJS.Timeout {
  const reportAll = async () => {
    for (const { metadata, status } of await environment.nodes())
      if (status?.observedGeneration !== metadata.generation)
        await environment.report(metadata.name, { observedGeneration: metadata.generation, state: 'Configured' })
  }
  return setInterval(() => void reportAll().catch(() => {}), 100)
}
