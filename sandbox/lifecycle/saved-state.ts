/**
 * Saves and restores the cloud state of a sandbox with `--keep`. Its directory also keeps the objects of both clusters, the
 * inventory and the files of the nodes.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { CloudState, Port, Server } from '../cloud/state.ts'
import { cloudStateFile, type StateDir } from './state-dir.ts'

type SavedCloudState = Pick<CloudState, 'user' | 'provider'> & {
  [K in 'networks' | 'subnets' | 'servers' | 'deletedServers' | 'ports']: CloudState[K] extends Map<string, infer T>
    ? T[]
    : never
}

const saveAfterMs = 300

/** Reports whether there was a saved state. */
export function restoreCloudState(state: StateDir, cloudState: CloudState): boolean {
  const file = state.path(cloudStateFile)
  if (!existsSync(file)) return false
  const saved = JSON.parse(readFileSync(file, 'utf8')) as SavedCloudState
  Object.assign(cloudState, { user: saved.user, provider: saved.provider })
  const fill = <T extends { id: string }>(target: Map<string, T>, entries: T[]) => {
    for (const entry of entries) target.set(entry.id, entry)
  }
  fill(cloudState.networks, saved.networks)
  fill(cloudState.subnets, saved.subnets)
  fill(cloudState.servers, saved.servers.map(withDates))
  fill(cloudState.deletedServers, saved.deletedServers.map(withDates))
  // NICs are plugged again after the restart.
  fill(
    cloudState.ports,
    saved.ports.map(port => ({ ...withDates(port), updatedAt: new Date(port.updatedAt), status: 'DOWN' as const })),
  )
  return true
}

/** Saves soon after each change. Writes beside and renames: a crash leaves the last complete file. The result saves once more. */
export function saveCloudState(state: StateDir, cloudState: CloudState): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const save = () => {
    clearTimeout(timer)
    timer = undefined
    const { user, provider, networks, subnets, servers, deletedServers, ports } = cloudState
    const lists = { networks, subnets, servers, deletedServers, ports }
    const saved = Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, [...all.values()]]))
    const file = state.path(cloudStateFile)
    writeFileSync(`${file}.new`, JSON.stringify({ user, provider, ...saved }), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  cloudState.onPortsChange(() => {
    timer ??= setTimeout(save, saveAfterMs)
  })
  save()
  return async () => save()
}

function withDates<T extends Port | Server>(entry: T): T {
  return { ...entry, createdAt: new Date(entry.createdAt) }
}
