/**
 * What a sandbox leaves on the machine while it runs: a directory, network namespaces, processes. Each can be found again
 * from the directory alone, so that `down` cleans up after a crash too.
 *
 * Namespaces are written down before they are made, and their names begin with a mark of the directory. Processes carry the
 * directory in their environment or live in one of the namespaces; on other systems than Linux they are written down.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { run } from '../exec.ts'

/** Only Linux tells of processes in files. */
const hasProc = process.platform === 'linux'

/** The variable by which a process of a sandbox is known. */
export const partMark = 'MULTINIC_SANDBOX_PART'

export interface StateDir {
  readonly dir: string
  /** Of all network namespaces of this sandbox. */
  readonly prefix: string
  readonly socket: string
  path(...parts: string[]): string
}

export function stateDir(dir: string): StateDir {
  const absolute = resolve(dir)
  return {
    dir: absolute,
    prefix: `mn${createHash('sha256').update(absolute).digest('hex').slice(0, 6)}-`,
    // The longest path of a socket is 107 bytes.
    socket: join(absolute, 'control.sock'),
    path: (...parts) => join(absolute, ...parts),
  }
}

/** Where `ip` looks for network namespaces by name. */
const namespaceNames = '/run/netns'

/** Says that a directory is a sandbox's and may be removed with all that is in it. */
const signName = '.multinic-sandbox'

/** The cloud of a sandbox that is kept. */
export const worldFile = 'world.json'

/** What stays of a sandbox that is kept; all else is of its processes. */
const staying = /^(\.multinic-sandbox|world\.json|inventory\.db.*|management|biz|nodes|logs|sandbox\.log)$/

/** Reports whether a sandbox that was kept can go on from this directory. */
export function isKept(state: StateDir): boolean {
  return existsSync(state.path(worldFile))
}

/** Makes the directory, or takes an empty one: never one that somebody else keeps something in. */
export async function makeStateDir(state: StateDir): Promise<void> {
  await mkdir(state.dir, { recursive: true })
  await refuseForeign(state)
  await chmod(state.dir, 0o700)
  await writeFile(state.path(signName), '')
}

async function refuseForeign(state: StateDir): Promise<void> {
  const found = await lstat(state.dir).catch(() => undefined)
  if (!found) return
  const entries = found.isDirectory() ? await readdir(state.dir) : []
  const ours = found.isDirectory() && found.uid === process.getuid?.()
  if (!ours || (entries.length > 0 && !entries.includes(signName)))
    throw new Error(`${state.dir} is not a directory of a sandbox; it is left alone`)
}

const ownerFile = z.object({ pid: z.int(), started: z.string() })

/** Who runs the sandbox of this directory: written by that process itself. */
export async function claim(state: StateDir): Promise<void> {
  const owner = { pid: process.pid, started: startTime(process.pid) ?? '' }
  await writeFile(state.path('owner.json'), JSON.stringify(owner), { flag: 'wx' })
}

/** The process that runs the sandbox of this directory, when it still lives. */
export async function ownerOf(state: StateDir): Promise<number | undefined> {
  const text = await readFile(state.path('owner.json'), 'utf8').catch(() => undefined)
  const owner = text === undefined ? undefined : ownerFile.safeParse(jsonOf(text)).data
  return owner && startTime(owner.pid) === owner.started ? owner.pid : undefined
}

export async function addNamespace(state: StateDir, name: string): Promise<void> {
  appendFileSync(state.path('namespaces'), `${name}\n`)
  const at = join(namespaceNames, name)
  await mkdir(namespaceNames, { recursive: true })
  await writeFile(at, '', { flag: 'wx' })
  // `ip netns add` would go back to the network that it came from, which the root of a user namespace may not enter.
  await run('unshare', [`--net=${at}`, 'true'])
  await run('ip', ['-n', name, 'link', 'set', 'lo', 'up'])
}

/** Ends what runs in a namespace and removes it. */
export async function removeNamespace(name: string): Promise<void> {
  if (!existsSync(join(namespaceNames, name))) return
  for (let tries = 0; tries < 40; tries++) {
    const pids = (await run('ip', ['netns', 'pids', name]).catch(() => '')).split('\n').filter(Boolean).map(Number)
    if (pids.length === 0) break
    for (const pid of pids) signal(pid, 'SIGKILL')
    await sleep(25)
  }
  await run('ip', ['netns', 'delete', name])
}

/** Stops all, by id, and removes all that the directory tells of, the directory last. Reports whether there was anything. */
export async function clean(state: StateDir, { forget = false } = {}): Promise<boolean> {
  await refuseForeign(state)
  const owner = await ownerOf(state)
  if (owner) await end(owner, 15_000)
  return (await sweep(state, { forget })) || owner !== undefined
}

/** The same for a sandbox whose own process is this one, or gone. One that is kept loses only what its processes had. */
export async function sweep(state: StateDir, { forget = false } = {}): Promise<boolean> {
  await refuseForeign(state)
  const processes = await processesOf(state)
  // Again: one that was about to start another may have done so.
  for (let left = processes, rounds = 0; left.length > 0 && rounds < 40; rounds++) {
    for (const pid of left) signal(pid, 'SIGKILL')
    await sleep(25)
    left = await processesOf(state)
  }
  const namespaces = await namespacesOf(state)
  for (const name of namespaces) await removeNamespace(name)
  for (const mount of mountsUnder(state.dir)) await run('umount', ['--lazy', mount])
  const existed = existsSync(state.dir)
  const passing = isKept(state) && !forget ? (await readdir(state.dir)).filter(name => !staying.test(name)) : ['']
  for (const name of passing)
    await rm(join(state.dir, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  return existed || processes.length > 0 || namespaces.length > 0
}

async function namespacesOf(state: StateDir): Promise<string[]> {
  const written = await readFile(state.path('namespaces'), 'utf8').catch(() => '')
  const there = await readdir(namespaceNames).catch(() => [])
  const ours = [...written.split('\n'), ...there].filter(name => name.startsWith(state.prefix))
  return [...new Set(ours)]
}

/** Processes that this sandbox started, found by their environment, or by where they work. */
export async function processesOf(state: StateDir): Promise<number[]> {
  if (!hasProc) return writtenProcesses(state)
  const found: number[] = []
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const environ = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    const marked = environ.split('\0').includes(`${partMark}=${state.dir}`)
    if (marked || (await isRealPart(state, name))) found.push(Number(name))
  }
  return found.filter(pid => pid !== process.pid)
}

/** Elsewhere the environment of a process cannot be read: what a sandbox starts is written down with when it was started. */
export function writeDown(state: StateDir, pid: number): void {
  if (!hasProc) appendFileSync(state.path('processes'), `${pid} ${startTime(pid) ?? ''}\n`)
}

async function writtenProcesses(state: StateDir): Promise<number[]> {
  const written = await readFile(state.path('processes'), 'utf8').catch(() => '')
  return written.split('\n').flatMap(line => {
    const [, pid = '', started = ''] = /^(\d+) (.+)$/.exec(line) ?? []
    return started !== '' && startTime(Number(pid)) === started ? [Number(pid)] : []
  })
}

/** Services of a real cloud write their titles over their environment. A person who looks around has a terminal. */
async function isRealPart(state: StateDir, pid: string): Promise<boolean> {
  const works = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return works.startsWith(state.path('real-')) && statOf(Number(pid))?.[4] === '0'
}

async function end(pid: number, graceMs: number): Promise<void> {
  const started = startTime(pid)
  signal(pid, 'SIGTERM')
  const until = Date.now() + graceMs
  while (startTime(pid) === started && started !== undefined) {
    if (Date.now() > until) signal(pid, 'SIGKILL')
    await sleep(25)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

/** When a process started, in clock ticks since boot: with the pid it names one process for good. Undefined for a dead one. */
export function startTime(pid: number): string | undefined {
  if (!hasProc) return startedBy(pid)
  const fields = statOf(pid)
  return fields?.[0] === 'Z' ? undefined : fields?.[19]
}

/** The fields of /proc/PID/stat from the third on: state, parent, group, session, terminal. Undefined for a dead one. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may contain anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** Where there is no /proc. */
function startedBy(pid: number): string | undefined {
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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
