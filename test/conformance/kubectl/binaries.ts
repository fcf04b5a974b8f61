/**
 * The kubectl for the tests: that of the Kubernetes rig, otherwise the one of the machine.
 */
import { spawnSync } from 'node:child_process'
import { binary } from '../../rigs/kubernetes/binaries.ts'

/** Its name with the version, and its path. */
export function findKubectl(): { name: string; path: string } {
  const path = binary('kubectl')
  const output = String(spawnSync(path, ['version', '--client']).stdout)
  return { name: `kubectl ${/v1\.\d+\.\d+/.exec(output)?.[0] ?? path}`, path }
}

export function hasKubectl(): boolean {
  try {
    return findKubectl().path !== ''
  } catch {
    return false
  }
}
