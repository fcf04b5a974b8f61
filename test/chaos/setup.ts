/**
 * A sandbox for chaos: its parts know of replicas, their clocks can be set, and the inventory takes records of both operators.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { type Clocks, clocksIn } from './clocks.ts'
import { type ReplicatedPart, replicatedParts } from './history.ts'

export interface ChaosStage {
  walk: TestSandbox
  clocks: Clocks
  /** What the second of a part is told. */
  replicaEnv: Record<ReplicatedPart, Record<string, string>>
  end(): Promise<void>
}

export async function startStage(options: { nodes: number; rabbitmq?: string | undefined }): Promise<ChaosStage> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-chaos-'))
  const clocks = clocksIn(dir)
  const [tokensFile, tokenFile] = [join(dir, 'inventory-tokens.yaml'), join(dir, 'inventory-token')]
  const token = randomBytes(24).toString('hex')
  await writeFile(tokensFile, stringify({ tokens: [{ name: 'operator', token, roles: ['admin'] }] }), { mode: 0o600 })
  await writeFile(tokenFile, token, { mode: 0o600 })
  const every = { LEADER_ELECT: 'true', INVENTORY_TOKENS_FILE: tokensFile, INVENTORY_OPEN_READS: 'true' }
  const seconds = replicatedParts.map(part => [
    part,
    { ...every, INVENTORY_TOKEN_FILE: tokenFile, ...clocks.env(`second-${part}`) },
  ])
  const remove = () => rm(dir, { recursive: true, force: true })
  const { nodes, rabbitmq } = options
  try {
    const env = { ...every, ...clocks.env() }
    const walk = await startTestSandbox({ nodes, env, ...(rabbitmq !== undefined && { rabbitmq }) })
    return {
      walk,
      clocks,
      replicaEnv: Object.fromEntries(seconds),
      async end() {
        await walk.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}
