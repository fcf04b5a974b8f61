/**
 * The only file that accesses the kernel and the disk. All other files get it as a record of functions.
 */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { FileState } from '../state/observed.ts'

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

export interface Host {
  /** Runs `ip` with the lines as standard input. */
  ip(args: readonly string[], lines?: readonly string[]): Promise<CommandResult>
  /** Runs `nft -f -`. Fails like a command on a machine without nft. */
  nft(script: string): Promise<CommandResult>
  /** Undefined when the file does not exist. A file that is longer, by default than 1 MiB, is unreadable. */
  readFile(path: string, maxBytes?: number): FileState | undefined
  /** The trimmed text of a sysctl or another one-line file; undefined when it does not exist. */
  readValue(path: string): string | undefined
  /** Names in a directory; undefined when it does not exist. Throws when it cannot be read. */
  list(directory: string): string[] | undefined
  /** Writes and syncs a file. Not atomic: use a name that no other program reads. */
  writeFile(path: string, file: FileState): void
  /** Atomic; syncs the directory. */
  rename(from: string, to: string): void
  removeFile(path: string): void
  makeDirectory(path: string): void
  /** Removes a directory if it is empty. */
  removeDirectory(path: string): void
  /** Writes a sysctl: in place, as the kernel requires. */
  writeValue(path: string, value: string): void
  /** Writes the termination message of the container. */
  writeReport(path: string, text: string): void
  /** When the file, its content or its attributes last changed, in milliseconds since 1970; undefined if there is none. */
  changedAt(path: string): number | undefined
  /** Connects to a Unix socket; undefined when it does not exist. */
  connect(path: string): Promise<Duplex | undefined>
  /** The first address of a host name; undefined when there is none within the timeout. */
  resolve(name: string, timeout: number): Promise<string | undefined>
  /** Sends a UDP packet to the discard port (9). Returns the error of the kernel, if any. */
  send(from: string, to: string): Promise<string | undefined>
  /** Reports whether a host replies on TCP; a refused connection counts. */
  canConnect(address: string, port: number, timeout: number): Promise<boolean>
  /** Binds a Unix socket to a path and listens, until the returned function is called or the process ends. */
  listen(path: string): Promise<() => void>
  /** Wall clock, for timestamps only: it may be set back at any time. */
  now(): number
  /** Milliseconds since some point in the past. Never goes back. */
  monotonic(): number
  sleep(ms: number): Promise<void>
}

/** Milliseconds. */
const commandTimeout = 60_000

/** `ip` runs in the network namespace of this process, or in the named one (`ip -n`). */
export function kernelHost({ namespace }: { namespace?: string } = {}): Host {
  const inNamespace = (args: readonly string[]) => [...(namespace ? ['-n', namespace] : []), ...args]
  return {
    ip: (args, lines) => run('ip', inNamespace(args), lines),
    nft: script => runNft(script, namespace),
    readFile,
    readValue,
    list,
    writeFile,
    rename(from, to) {
      renameSync(from, to)
      syncDirectory(dirname(to))
    },
    removeFile(path) {
      rmSync(path, { force: true })
      syncDirectory(dirname(path))
    },
    makeDirectory: path => void mkdirSync(path, { recursive: true, mode: 0o755 }),
    removeDirectory,
    writeValue: (path, value) => writeFileSync(path, value),
    writeReport: (path, text) => writeFileSync(path, text),
    changedAt,
    connect: path => connectTo(path),
    resolve,
    send,
    canConnect,
    listen,
    now: () => Date.now(),
    monotonic,
    sleep,
  }
}

/** The first use of `performance` would load node:perf_hooks. */
function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
}

/** For one command, spawnSync costs a third of spawn, and there is nothing to do meanwhile. */
async function run(command: string, args: readonly string[], lines?: readonly string[]): Promise<CommandResult> {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    ...(lines ? { input: `${lines.join('\n')}\n` } : { stdio: ['ignore', 'pipe', 'pipe'] }),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: commandTimeout,
  })
  // `ip -batch` stops reading at the first error.
  if (error && !isCode(error, 'EPIPE')) throw new Error(`${command}: ${error.message}`)
  return { code: status ?? 255, stdout, stderr }
}

async function runNft(script: string, namespace: string | undefined): Promise<CommandResult> {
  const command = ['nft', '-f', '-']
  const [program = '', ...args] = namespace ? ['nsenter', `--net=/run/netns/${namespace}`, ...command] : command
  try {
    return await run(program, args, [script])
  } catch (error) {
    if (!(error instanceof Error && /ENOENT/.test(error.message))) throw error
    return { code: 127, stdout: '', stderr: 'there is no nft program' }
  }
}

function readValue(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'EINVAL')) return undefined
    throw error
  }
}

/** Errors that tell something about one file or directory, not about the host. */
const fileErrors = ['ELOOP', 'EIO', 'EISDIR', 'ENAMETOOLONG', 'EACCES', 'EPERM', 'ENOTDIR', 'ENXIO', 'ESTALE']

/** Undefined when the directory cannot be read. */
export function tryList(host: Pick<Host, 'list'>, directory: string): string[] | undefined {
  try {
    return host.list(directory) ?? []
  } catch (error) {
    if (isCode(error, ...fileErrors)) return undefined
    throw error
  }
}

const maxFileBytes = 1 << 20

function readFile(path: string, maxBytes = maxFileBytes): FileState | undefined {
  const found = statusOf(path)
  if (found === 'unreadable') return { text: '', mode: 0, uid: 0, gid: 0, unreadable: true }
  if (!found) return undefined
  const attributes = { mode: found.mode & 0o7777, uid: found.uid, gid: found.gid }
  const special = found.isFile() ? {} : { special: true as const }
  try {
    const target = found.isFile() ? found : statSync(path, { throwIfNoEntry: false })
    // To open a named pipe would wait for its writer.
    if (!target?.isFile()) return { text: '', ...attributes, ...special }
    if (target.size > maxBytes) return { text: '', ...attributes, ...special, unreadable: true }
    return { text: readFileSync(path, 'utf8'), ...attributes, ...special }
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    if (isCode(error, ...fileErrors)) return { text: '', ...attributes, ...special, unreadable: true }
    throw error
  }
}

/** A link that leads nowhere has itself changed. */
function changedAt(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.ctimeMs
  } catch (error) {
    if (!isCode(error, ...fileErrors)) throw error
    const status = statusOf(path)
    return status === 'unreadable' ? undefined : status?.ctimeMs
  }
}

function statusOf(path: string): Stats | 'unreadable' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (isCode(error, ...fileErrors)) return 'unreadable'
    throw error
  }
}

function list(directory: string): string[] | undefined {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

function writeFile(path: string, file: FileState): void {
  const handle = openSync(path, 'w', file.mode)
  try {
    writeFileSync(handle, file.text)
    fchmodSync(handle, file.mode)
    fchownSync(handle, file.uid, file.gid)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function removeDirectory(path: string): void {
  try {
    rmdirSync(path)
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error
  }
}

function syncDirectory(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

async function connectTo(path: string): Promise<Duplex | undefined> {
  // The first socket loads half of node:net.
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('error', error => (isCode(error, 'ENOENT', 'ENOTDIR') ? resolve(undefined) : reject(error)))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}

async function resolve(name: string, timeout: number): Promise<string | undefined> {
  // Loaded on demand: most runs do not need it.
  const { lookup } = process.getBuiltinModule('node:dns/promises')
  return new Promise(resolve => {
    const timer = setTimeout(resolve, timeout, undefined)
    lookup(name, { order: 'verbatim' })
      .then(({ address }) => resolve(address))
      .catch(() => resolve(undefined))
      .finally(() => clearTimeout(timer))
  })
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}

function send(from: string, to: string): Promise<string | undefined> {
  // Loaded on demand: a run without probes does not need it.
  const { createSocket } = process.getBuiltinModule('node:dgram')
  return new Promise(resolve => {
    const socket = createSocket(to.includes(':') ? 'udp6' : 'udp4')
    const end = (error: Error | null | undefined) => {
      socket.close()
      // An address that is missing or tentative is found by other checks.
      resolve(isCode(error, 'EADDRNOTAVAIL') ? undefined : error?.message)
    }
    socket.once('error', end)
    socket.bind({ address: from }, () => socket.send('', 9, to, end))
  })
}

function canConnect(address: string, port: number, timeout: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: address, port })
    const end = (replied: boolean) => {
      socket.destroy()
      resolve(replied)
    }
    // `ip` blocks the event loop: handle a reply that arrived meanwhile before the timeout.
    socket.setTimeout(timeout, () => setImmediate(end, false))
    socket.once('connect', () => end(true))
    socket.once('error', error => end(isCode(error, 'ECONNREFUSED', 'ECONNRESET')))
  })
}

function listen(path: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const server = createServer(socket => socket.destroy())
    server.on('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve(() => void server.close())
    })
  })
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
