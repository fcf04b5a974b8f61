/**
 * Versions of kubectl for the tests: the old one of Debian (scripts/provision.sh base), the current one of the Kubernetes rig, and
 * otherwise the one of the machine.
 */
import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'

export interface Kubectl {
  name: string
  path: string
}

const cache = join(environment()['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'multinic')

const debian = join(cache, 'kubectl-debian', 'kubectl')

/** For quick tests: the old one, which uses more parts of the API. */
export function quickKubectl(): Kubectl | undefined {
  const path = [debian, 'kubectl'].find(works)
  return path === undefined ? undefined : named(path)
}

/** For tests with a real API server: the current one, and the old one if available. */
export function allKubectls(current: string): Kubectl[] {
  return [current, debian].filter(works).map(named)
}

function named(path: string): Kubectl {
  const output = String(spawnSync(path, ['version', '--client']).stdout)
  return { name: `kubectl ${/v1\.\d+\.\d+/.exec(output)?.[0] ?? path}`, path }
}

function works(path: string): boolean {
  return spawnSync(path, ['version', '--client']).status === 0
}
