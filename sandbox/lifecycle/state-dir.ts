/**
 * What a sandbox creates on the machine: a state directory, network namespaces, processes. All of it can be found from the
 * directory alone, so that `down` also cleans up after a crash.
 *
 * Namespaces are recorded before they are created, and their names begin with a hash of the directory. Processes carry the
 * directory in their environment or run in one of the namespaces; on systems without /proc they are recorded in a file.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { run } from '../exec.ts'

const hasProc = process.platform === 'linux'

/** Environment variable that marks the processes of a sandbox. */
export const processMarker = 'MULTINIC_SANDBOX_PROCESS'

export interface StateDir {
  readonly dir: string
  /** Prefix of all network namespaces of this sandbox. */
  readonly prefix: string
  readonly socket: string
  path(...parts: string[]): string
}

export function stateDir(dir: string): StateDir {
  const absolute = resolve(dir)
  return {
    dir: absolute,
    prefix: `mn${createHash('sha256').update(absolute).digest('hex').slice(0, 6)}-`,
    // The path of a Unix socket is limited to 107 bytes.
    socket: join(absolute, 'control.sock'),
    path: (...parts) => join(absolute, ...parts),
  }
}

/** Where `ip netns` keeps named network namespaces. */
const namespaceNames = '/run/netns'

/** Marks a directory as a sandbox directory that may be removed with its contents. */
const markerFile = '.multinic-sandbox'

/** Creates the directory, or uses an empty one; refuses a directory with other contents. */
export async function makeStateDir(state: StateDir): Promise<void> {
  await mkdir(state.dir, { recursive: true })
  await assertSandboxDirectory(state)
  await chmod(state.dir, 0o700)
  await writeFile(state.path(markerFile), '')
}

async function assertSandboxDirectory(state: StateDir): Promise<void> {
  const found = await lstat(state.dir).catch(() => undefined)
  if (!found) return
  const entries = found.isDirectory() ? await readdir(state.dir) : []
  const isOwn = found.isDirectory() && found.uid === process.getuid?.()
  if (!isOwn || (entries.length > 0 && !entries.includes(markerFile)))
    throw new Error(`${state.dir} is not a sandbox directory; choose a new or an empty directory`)
}

const ownerFile = z.object({ pid: z.int(), started: z.string() })

/** Records this process as the owner of the directory. */
export async function writeOwner(state: StateDir): Promise<void> {
  const owner = { pid: process.pid, started: startTime(process.pid) ?? '' }
  await writeFile(state.path('owner.json'), JSON.stringify(owner), { flag: 'wx' })
}

/** The process that runs the sandbox of this directory; undefined if it is not running. */
export async function findOwner(state: StateDir): Promise<number | undefined> {
  const text = await readFile(state.path('owner.json'), 'utf8').catch(() => undefined)
  const owner = text === undefined ? undefined : ownerFile.safeParse(parseJson(text)).data
  return owner && startTime(owner.pid) === owner.started ? owner.pid : undefined
}

/**
 * Makes the directory a shared mount of itself before the first namespace, as `ip netns add` does. Done later by others, that
 * mount would cover the namespaces of the sandbox, and their files could not be removed: "Device or resource busy".
 */
const shareNames = `
mount --make-shared ${namespaceNames} 2>/dev/null || {
  mount --rbind ${namespaceNames} ${namespaceNames}
  mount --make-shared ${namespaceNames}
}`

/**
 * Removes the file of a namespace in a mount namespace in which nothing is mounted on it. The kernel then detaches its other
 * mounts, also one that a mount of others covers.
 */
const removeName = `
file=${namespaceNames}/$1
umount --lazy "$file" 2>/dev/null || :
rm -f "$file" 2>/dev/null && exit
umount --lazy ${namespaceNames}
umount --lazy "$file"
rm -f "$file"`

export async function addNamespace(state: StateDir, name: string): Promise<void> {
  appendFileSync(state.path('namespaces'), `${name}\n`)
  const path = join(namespaceNames, name)
  await mkdir(namespaceNames, { recursive: true })
  await run('flock', [namespaceNames, 'sh', '-e', '-c', shareNames])
  await writeFile(path, '', { flag: 'wx' })
  // Not `ip netns add`: it returns to the original network namespace, which root of a user namespace may not enter.
  await run('unshare', [`--net=${path}`, 'true'])
  await run('ip', ['-n', name, 'link', 'set', 'lo', 'up'])
}

/** Kills the processes in a namespace and removes it. */
export async function removeNamespace(name: string): Promise<void> {
  if (!existsSync(join(namespaceNames, name))) return
  for (let tries = 0; tries < 40; tries++) {
    const pids = (await run('ip', ['netns', 'pids', name]).catch(() => '')).split('\n').filter(Boolean).map(Number)
    if (pids.length === 0) break
    for (const pid of pids) signal(pid, 'SIGKILL')
    await sleep(25)
  }
  await run('unshare', ['--mount', '--propagation', 'private', 'sh', '-e', '-c', removeName, 'remove', name])
}

/** Stops the sandbox and removes everything it created, the directory last. Reports whether there was anything. */
export async function stopAndRemove(state: StateDir): Promise<boolean> {
  await assertSandboxDirectory(state)
  const owner = await findOwner(state)
  if (owner) await terminate(owner, 15_000)
  return (await removeLeftovers(state)) || owner !== undefined
}

/** The same if the owner is this process or gone. */
export async function removeLeftovers(state: StateDir): Promise<boolean> {
  await assertSandboxDirectory(state)
  const processes = await processesOf(state)
  // Repeat: a process may have started another one meanwhile.
  for (let left = processes, rounds = 0; left.length > 0 && rounds < 40; rounds++) {
    for (const pid of left) signal(pid, 'SIGKILL')
    await sleep(25)
    left = await processesOf(state)
  }
  const namespaces = await namespacesOf(state)
  for (const name of namespaces) await removeNamespace(name)
  for (const mount of mountsUnder(state.dir)) await run('umount', ['--lazy', mount])
  const existed = existsSync(state.dir)
  await rm(state.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  return existed || processes.length > 0 || namespaces.length > 0
}

async function namespacesOf(state: StateDir): Promise<string[]> {
  const recorded = await readFile(state.path('namespaces'), 'utf8').catch(() => '')
  const existing = await readdir(namespaceNames).catch(() => [])
  const own = [...recorded.split('\n'), ...existing].filter(name => name.startsWith(state.prefix))
  return [...new Set(own)]
}

/** Processes that this sandbox started, found by their environment or their working directory. */
export async function processesOf(state: StateDir): Promise<number[]> {
  if (!hasProc) return recordedProcesses(state)
  const found: number[] = []
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const environ = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    const marked = environ.split('\0').includes(`${processMarker}=${state.dir}`)
    if (marked || (await isRealService(state, name))) found.push(Number(name))
  }
  return found.filter(pid => pid !== process.pid)
}

/** Without /proc the environment of a process cannot be read: records the process with its start time. */
export function recordProcess(state: StateDir, pid: number): void {
  if (!hasProc) appendFileSync(state.path('processes'), `${pid} ${startTime(pid) ?? ''}\n`)
}

async function recordedProcesses(state: StateDir): Promise<number[]> {
  const recorded = await readFile(state.path('processes'), 'utf8').catch(() => '')
  return recorded.split('\n').flatMap(line => {
    const [, pid = '', started = ''] = /^(\d+) (.+)$/.exec(line) ?? []
    return started !== '' && startTime(Number(pid)) === started ? [Number(pid)] : []
  })
}

/** OpenStack services overwrite their environment with their title. A shell of a user in the directory has a terminal. */
async function isRealService(state: StateDir, pid: string): Promise<boolean> {
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return directory.startsWith(state.path('real-')) && statOf(Number(pid))?.[4] === '0'
}

async function terminate(pid: number, graceMs: number): Promise<void> {
  const started = startTime(pid)
  signal(pid, 'SIGTERM')
  const until = performance.now() + graceMs
  while (startTime(pid) === started && started !== undefined) {
    if (performance.now() > until) signal(pid, 'SIGKILL')
    await sleep(25)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has exited meanwhile.
  }
}

/** Start time in clock ticks since boot: together with the pid it identifies a process. Undefined for a dead one. */
export function startTime(pid: number): string | undefined {
  if (!hasProc) return startTimeFromPs(pid)
  const fields = statOf(pid)
  return fields?.[0] === 'Z' ? undefined : fields?.[19]
}

/** Fields of /proc/PID/stat from the third on: state, parent, group, session, terminal. Undefined for a dead process. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name is in parentheses and may contain any character.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** For systems without /proc. */
function startTimeFromPs(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const [, state = 'Z', started] = /^\s*(\S+)\s+(.+)$/m.exec(stdout ?? '') ?? []
  return state.startsWith('Z') ? undefined : started?.trim()
}

function mountsUnder(dir: string): string[] {
  if (!existsSync('/proc/self/mountinfo')) return []
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const points = lines.map(line => (line.split(' ')[4] ?? '').replaceAll('\\040', ' '))
  return points.filter(point => point.startsWith(`${dir}/`)).reverse()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
