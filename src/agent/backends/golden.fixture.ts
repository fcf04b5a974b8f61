/**
 * The golden cases: a folder each, with an `input.json` and the files that the agent renders from it.
 */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Backend, backendNames } from '../../contract/backend.ts'
import { fromWireInterfaces, type WireInterface } from '../../contract/interfaces.ts'
import { hostPaths } from '../paths.ts'
import { desiredNics } from '../plan/desired.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { nodeWithBothFamilies, settingsFrom } from '../test/agent.fixture.ts'
import { filesFor } from './files.ts'

const golden = fileURLToPath(new URL('../../../test/golden/', import.meta.url))

export interface GoldenCase {
  backend: Backend
  folder: string
}

export const goldenCases: readonly GoldenCase[] = backendNames.flatMap(backend =>
  readdirSync(join(golden, backend)).map(name => ({ backend, folder: join(golden, backend, name) })),
)

export function renderCase({ backend, folder }: GoldenCase): {
  nic: DesiredNic
  files: Record<string, { text: string; mode: number }>
} {
  const input = JSON.parse(readFileSync(join(folder, 'input.json'), 'utf8')) as {
    interface: WireInterface
    env?: Record<string, string>
    /** NetworkManager runs on the host. */
    networkManager?: true
  }
  const [nic] = desiredNics(fromWireInterfaces([input.interface]), settingsFrom(input.env), nodeWithBothFamilies)
  assert.ok(nic)
  const observed = {
    directories: Object.values(hostPaths),
    managers: input.networkManager ? { 1: 'none' as const } : {},
  }
  return { nic, files: filesFor(backend, nic, hostPaths, observed) }
}
