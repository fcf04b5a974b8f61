/**
 * One agent per node at a time. Each agent listens on a socket of its own in a directory that only root can write to, then
 * looks for others: it holds the lock when no other socket there has a listener. The kernel closes the socket when the
 * process ends, and a name is never used twice, so a socket without a listener can be removed. An agent that had bound its
 * socket and did not listen yet loses it that way: without its socket it does not hold the lock.
 */
import type { Log } from '../../telemetry/log.ts'
import type { Paths } from '../paths.ts'
import type { Host } from './host.ts'

type Release = () => void

/** Milliseconds. */
const lockTimeout = 20_000
const pollInterval = 200

/** Undefined when another agent still holds the lock after the timeout, or when the agent has to stop. */
export async function takeLock(
  host: Host,
  paths: Paths,
  log: Log,
  stop: { requested: boolean },
): Promise<Release | undefined> {
  const until = host.monotonic() + lockTimeout
  let release = await tryLock(host, paths)
  if (!release) log.info('another agent is running on this node, waiting for it', { ms: lockTimeout })
  while (!release && host.monotonic() < until && !stop.requested) {
    await host.sleep(pollInterval)
    release = await tryLock(host, paths)
  }
  return release
}

/** Undefined when another agent holds the lock. */
export async function tryLock(host: Host, paths: Paths): Promise<Release | undefined> {
  const directory = `${paths.state}/lock`
  const own = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`
  const release = await listenIn(host, directory, own)
  for (const name of host.list(directory) ?? []) {
    if (name === own || !(await hasListener(host, `${directory}/${name}`))) continue
    release?.()
    return undefined
  }
  // Where nothing can be written, there is no journal either, and the agent changes nothing: it needs no lock.
  if (!release) return () => {}
  // Whoever could remove the socket was in the list, and has ended by now.
  if (host.list(directory)?.includes(own)) return release
  release()
  return undefined
}

/** Undefined where nothing can be written. */
async function listenIn(host: Host, directory: string, name: string): Promise<Release | undefined> {
  try {
    host.makeDirectory(directory)
    return await host.listen(`${directory}/${name}`)
  } catch {
    return undefined
  }
}

async function hasListener(host: Host, path: string): Promise<boolean> {
  try {
    const socket = await host.connect(path)
    socket?.destroy()
    return socket !== undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The listener ends just now, or has more waiting than it can take.
    if (code === 'ECONNRESET' || code === 'EAGAIN') return true
    if (code !== 'ECONNREFUSED') throw error
    host.removeFile(path)
    return false
  }
}
