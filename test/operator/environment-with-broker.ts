/**
 * The stage of the operator with a real broker: the simulated cloud tells of its changes there, and a node's word follows
 * every delivery, so that nothing but events and polls makes the operator look.
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
import { type Stage, startStage } from './environment.ts'

export interface NotifiedStage extends Stage {
  storage: Subnet
  backup: Subnet
  workers: Server[]
  attach(server: Server, subnet: Subnet): Port
  /** As Nova detaches a port that somebody else made: it stays, and its update names no server. */
  detach(port: Port): void
  /** `worker-1: multinic0=10.10.0.10 mtu 9000 …`, one line a node. */
  picture(): Promise<string[]>
  /** `True EventBusConnected`. */
  condition(type: string): Promise<string>
  /** Nothing is left to do: every node has said that it is configured, and the object knows. */
  settled(nodes: number): Promise<void>
  /** All that was told so far is with the broker. */
  sent(): Promise<void>
}

export const within = 90_000

export interface NotifiedStageOptions extends Pick<NotificationsOptions, 'intercept'> {
  /** False: nobody tells anything. */
  notifications?: boolean
}

export async function startNotifiedStage(rabbit: RabbitMq, options: NotifiedStageOptions = {}): Promise<NotifiedStage> {
  const { intercept, notifications = true } = options
  const stage = await startStage()
  const { world } = stage
  const storage = addSubnet(world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const backup = addSubnet(world, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  const workers = ['worker-1', 'worker-2', 'worker-3'].map(name => addServer(world, name))
  world.bus = {
    urls: [`amqp://${rabbit.host}:${rabbit.port}/`],
    user: rabbit.user,
    password: rabbit.password,
  }
  const told = notifications
    ? await startNotifications(world, { url: rabbit.url, log: silent, ...(intercept && { intercept }) })
    : undefined
  const playing = playNodes(stage)

  return {
    ...stage,
    storage,
    backup,
    workers,
    attach(server, subnet) {
      const port = addPort(world, { server, subnet })
      setPortStatus(world, port.id, 'ACTIVE')
      return port
    },
    detach(port) {
      Object.assign(port, { deviceId: '', deviceOwner: '' })
      world.emitPortsChange()
    },
    async picture() {
      return (await stage.nodes()).map(lineOf).sort()
    },
    async condition(type) {
      const found = (await stage.config()).status?.conditions?.find(one => one.type === type)
      return `${found?.status} ${found?.reason}`
    },
    async settled(nodes) {
      await eventually(async () => assert.equal((await stage.config()).status?.nodes?.ready, `${nodes}/${nodes}`), {
        within,
      })
    },
    sent: async () => told?.sent(),
    async close() {
      clearInterval(playing)
      await told?.close()
      await stage.close()
    },
  }
}

function lineOf({ spec }: NodeConfig): string {
  const nics = spec.interfaces.map(({ name, address, mtu }) => `${name}=${address} mtu ${mtu}`)
  return [`${spec.nodeName}:`, ...nics].join(' ')
}

/** The node side: what is delivered is configured a moment later. */
function playNodes(stage: Stage): NodeJS.Timeout {
  const play = async () => {
    for (const { metadata, status } of await stage.nodes())
      if (status?.observedGeneration !== metadata.generation)
        await stage.report(metadata.name, { observedGeneration: metadata.generation, state: 'Configured' })
  }
  return setInterval(() => void play().catch(() => {}), 100)
}
