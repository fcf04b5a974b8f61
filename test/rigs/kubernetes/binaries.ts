/**
 * Where the programs of a real cluster are: KUBEBUILDER_ASSETS first, then what build.sh has built, then the machine's own.
 */
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'

/** Stated once, in the Go module that is built. */
export const kubernetesVersion = pinned('k8s.io/kubernetes')

type Program =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubelet'
  | 'kubectl'
  | 'containerd'
  | 'ctr'
  | 'busybox'

export function binary(program: Program): string {
  const env = environment()
  const assets = env['KUBEBUILDER_ASSETS']
  const cache = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'multinic', 'kubernetes', kubernetesVersion)
  const path = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  // The kubectl and etcd of a machine may be of any age: those of the path count last.
  const found = [...(assets ? [assets] : []), cache, ...path].map(dir => join(dir, program)).find(executable)
  if (!found) throw new Error(`${program} is not on this machine: scripts/provision.sh kubernetes`)
  return found
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function pinned(module: string): string {
  const text = readFileSync(join(import.meta.dirname, 'source', 'go.mod'), 'utf8')
  const [, version] = new RegExp(`^\\t${module} v(\\S+)$`, 'm').exec(text) ?? []
  if (!version) throw new Error(`go.mod of the rig does not name ${module}`)
  return version
}
