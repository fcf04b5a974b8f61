/**
 * One agent per node at a time. Each agent listens on a socket of its own in a directory that only root can write to, then
 * looks for others: it holds the lock when no other socket there has a listener. The kernel closes the socket when the
 * process ends, and a name is never used twice, so a socket without a listener can be removed.
 *
 * Older agents use an abstract socket, which any process in the node's network namespace can take. The agent takes it too.
 * If it is taken, an older agent may be running, but not for longer than its Job may.
 */
import type { Host } from './host.ts'
import type { Paths } from './paths.ts'

/** Seconds. The Job of an agent ends after this time (`activeDeadlineSeconds`). */
const jobDeadline = 600

interface TakenSince {
  bootID: string
  /** Seconds since boot. */
  uptime: number
}

/** Undefined when another agent holds the lock. */
export async function tryLock(host: Host, paths: Paths): Promise<(() => void) | undefined> {
  const release = await takeSocket(host, `${paths.state}/lock`)
  if (!release) return undefined
  const releaseOlder = await host.lock()
  const marker = `${paths.state}/older-lock.json`
  if (releaseOlder) {
    if (host.readFile(marker)) host.removeFile(marker)
    return () => {
      releaseOlder()
      release()
    }
  }
  if (isTakenTooLong(host, paths, marker)) return release
  release()
  return undefined
}

async function takeSocket(host: Host, directory: string): Promise<(() => void) | undefined> {
  const own = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`
  const release = await listenIn(host, directory, own)
  for (const name of host.list(directory) ?? []) {
    if (name === own || !(await hasListener(host, `${directory}/${name}`))) continue
    release()
    return undefined
  }
  return release
}

/** Where nothing can be written, there is no journal either, and the agent changes nothing: the older lock is enough. */
async function listenIn(host: Host, directory: string, name: string): Promise<() => void> {
  try {
    host.makeDirectory(directory)
    return await host.listen(`${directory}/${name}`)
  } catch {
    return () => {}
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

/** Remembers when the abstract socket was first found taken since boot. */
function isTakenTooLong(host: Host, paths: Paths, marker: string): boolean {
  const now: TakenSince = {
    bootID: host.readValue(paths.bootID) ?? '',
    uptime: Number.parseFloat(host.readValue('/proc/uptime') ?? '0'),
  }
  const since = parseMarker(host.readFile(marker)?.text)
  if (since?.bootID === now.bootID) return now.uptime - since.uptime > jobDeadline
  try {
    host.writeFile(marker, { text: JSON.stringify(now), mode: 0o600, uid: 0, gid: 0 })
  } catch {
    // Without the file the agent waits for the older one for ever, and a full disk stops it anyway.
  }
  return false
}

function parseMarker(text: string | undefined): TakenSince | undefined {
  try {
    const marker = JSON.parse(text ?? 'null') as TakenSince | null
    return typeof marker?.bootID === 'string' && typeof marker.uptime === 'number' ? marker : undefined
  } catch {
    return undefined
  }
}
