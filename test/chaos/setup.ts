/**
 * A sandbox for chaos: leader election is on, clocks can be shifted, and the inventory accepts records of both operators.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RealServices } from '../../sandbox/faults/unavailable.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { adminCaller } from '../support/access.ts'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { type Clocks, clocksIn } from './clocks.ts'
import { type CloudChanges, realCloudChanges, simulatedCloudChanges } from './cloud-changes.ts'
import { type ReplicatedComponent, replicatedComponents } from './history.ts'

export interface ChaosSetup {
  system: TestSandbox
  clocks: Clocks
  cloud: CloudChanges
  /** Environment of the second replica of a component. */
  replicaEnv: Record<ReplicatedComponent, Record<string, string>>
  stop(): Promise<void>
}

const nodeNameKey = 'node'

export interface ChaosOptions {
  nodes: number
  rabbitmq?: string | undefined
  /** Services that are real instead of simulated. */
  real?: RealServices
  /** PostgreSQL for the inventory. Default: SQLite. */
  databaseUrl?: string
}

export async function startChaosSetup(options: ChaosOptions): Promise<ChaosSetup> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-chaos-'))
  const clocks = clocksIn(dir)
  const { tokensFile, tokenFile } = await adminCaller(dir, randomBytes(24).toString('hex'))
  const common = {
    LEADER_ELECT: 'true',
    INVENTORY_TOKENS_FILE: tokensFile,
    INVENTORY_ANONYMOUS_ACCESS: 'true',
    // A VM that is renamed before its first delivery would get another node.
    OPENSTACK_NODE_NAME_METADATA_KEY: nodeNameKey,
  }
  const replicaEnv = replicatedComponents.map(component => [
    component,
    { ...common, INVENTORY_TOKEN_FILE: tokenFile, ...clocks.env(`second-${component}`) },
  ])
  const remove = () => rm(dir, { recursive: true, force: true })
  const { nodes, rabbitmq, real = {}, databaseUrl } = options
  try {
    const env = {
      ...common,
      ...clocks.env(),
      ...(databaseUrl !== undefined && { INVENTORY_DATABASE_URL: databaseUrl }),
    }
    const system = await startTestSandbox({ nodes, env, real, ...(rabbitmq !== undefined && { rabbitmq }) })
    await nameNodes(system.sandbox)
    return {
      system,
      clocks,
      cloud: cloudChanges(system.sandbox),
      replicaEnv: Object.fromEntries(replicaEnv),
      async stop() {
        await system.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Stores the name of its node in each server. */
async function nameNodes({ cloudState, cloud: { administrator } }: Sandbox): Promise<void> {
  for (const { id, metadata, name } of cloudState.servers.values()) {
    metadata[nodeNameKey] = name
    await administrator?.('nova', 'POST', `/v2.1/servers/${id}/metadata`, { metadata })
  }
}

function cloudChanges(sandbox: Sandbox): CloudChanges {
  const { administrator } = sandbox.cloud
  return administrator ? realCloudChanges(sandbox, administrator) : simulatedCloudChanges(sandbox)
}
