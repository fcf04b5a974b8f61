/**
 * The kubectls that tests try: Debian's old one (scripts/provision.sh base), the current one of the Kubernetes rig, and where
 * neither is there the one of the machine.
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

/** For quick tests one is enough: the old one, which asks in more ways. */
export function quickKubectl(): Kubectl | undefined {
  const path = [debian, 'kubectl'].find(works)
  return path === undefined ? undefined : named(path)
}

/** For tests on real parts: the current one, and the old one where Debian's package is to be had. */
export function allKubectls(current: string): Kubectl[] {
  return [current, debian].filter(works).map(named)
}

function named(path: string): Kubectl {
  const said = String(spawnSync(path, ['version', '--client']).stdout)
  return { name: `kubectl ${/v1\.\d+\.\d+/.exec(said)?.[0] ?? path}`, path }
}

function works(path: string): boolean {
  return spawnSync(path, ['version', '--client']).status === 0
}
