/**
 * Finds the programs of a real cluster: in KUBEBUILDER_ASSETS, then in the cache of build.sh, then in the PATH.
 */
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'

/** The version in the Go module that is built: the newest, or the one that KUBERNETES_VERSION selects (build.sh). */
export const kubernetesVersion = pinnedVersion('k8s.io/kubernetes')

type Program =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-proxy'
  | 'kube-scheduler'
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
  // kubectl and etcd in the PATH may have any version, so they come last.
  const found = [...(assets ? [assets] : []), cache, ...path].map(dir => join(dir, program)).find(isExecutable)
  if (!found) throw new Error(`${program} is not installed: run scripts/provision.sh kubernetes`)
  return found
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function pinnedVersion(module: string): string {
  const selected = environment()['KUBERNETES_VERSION']
  const source = selected ? `source-${selected}` : 'source'
  const text = readFileSync(join(import.meta.dirname, source, 'go.mod'), 'utf8')
  const [, version] = new RegExp(`^\\t${module} v(\\S+)$`, 'm').exec(text) ?? []
  if (!version) throw new Error(`go.mod of the rig does not contain ${module}`)
  return version
}
