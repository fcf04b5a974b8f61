/**
 * What a sandbox with `--keep` leaves in its directory when it stops: the cloud as data, beside the objects of both clusters,
 * the inventory and the files of the nodes. The next one goes on from there.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Port, Server, World } from '../cloud/state.ts'
import { type StateDir, worldFile } from './state-dir.ts'

type Saved = Pick<World, 'user' | 'provider'> & {
  [K in 'networks' | 'subnets' | 'servers' | 'deletedServers' | 'ports']: World[K] extends Map<string, infer T>
    ? T[]
    : never
}

const saveAfterMs = 300

/** Reports whether there was anything to go on from. */
export function resumeWorld(state: StateDir, world: World): boolean {
  const file = state.path(worldFile)
  if (!existsSync(file)) return false
  const saved = JSON.parse(readFileSync(file, 'utf8')) as Saved
  Object.assign(world, { user: saved.user, provider: saved.provider })
  const fill = <T extends { id: string }>(into: Map<string, T>, from: T[]) => {
    for (const each of from) into.set(each.id, each)
  }
  fill(world.networks, saved.networks)
  fill(world.subnets, saved.subnets)
  fill(world.servers, saved.servers.map(withDates))
  fill(world.deletedServers, saved.deletedServers.map(withDates))
  // NICs are plugged anew: until then nothing is there.
  fill(
    world.ports,
    saved.ports.map(port => ({ ...withDates(port), updatedAt: new Date(port.updatedAt), status: 'DOWN' as const })),
  )
  return true
}

/** Written soon after each change, beside and renamed: a crash leaves the last whole one. Ends with one more. */
export function keepWorld(state: StateDir, world: World): () => Promise<void> {
  let due: NodeJS.Timeout | undefined
  const save = () => {
    clearTimeout(due)
    due = undefined
    const { user, provider, networks, subnets, servers, deletedServers, ports } = world
    const lists = { networks, subnets, servers, deletedServers, ports }
    const saved = Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, [...all.values()]]))
    const file = state.path(worldFile)
    writeFileSync(`${file}.new`, JSON.stringify({ user, provider, ...saved }), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  world.onPorts(() => {
    due ??= setTimeout(save, saveAfterMs)
  })
  save()
  return async () => save()
}

function withDates<T extends Port | Server>(each: T): T {
  return { ...each, createdAt: new Date(each.createdAt) }
}
