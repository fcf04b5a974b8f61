/**
 * The only file that touches the kernel and the disk. Everything else gets this record of functions.
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
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { FileState } from './observed.ts'

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export interface Host {
  /** Runs `ip`; lines go to its standard input. */
  ip(args: readonly string[], lines?: readonly string[]): Promise<Ran>
  /** Undefined when there is no such file. */
  readFile(path: string): FileState | undefined
  /** The trimmed text of a setting of the kernel; undefined when there is none. */
  readValue(path: string): string | undefined
  /** Names in a directory; undefined when there is none. */
  list(directory: string): string[] | undefined
  /** Writes a file and syncs it. Not atomic: the name must be one that nobody reads. */
  writeFile(path: string, file: FileState): void
  /** Moves a file over another one, and syncs the directory. */
  rename(from: string, to: string): void
  removeFile(path: string): void
  makeDirectory(path: string): void
  /** Removes a directory if it is empty. */
  removeDirectory(path: string): void
  /** Kernel settings: written in place, as the kernel wants them. */
  writeValue(path: string, value: string): void
  /** Reports what is to be read by others when we end. */
  writeReport(path: string, text: string): void
  /** A local socket; undefined when there is none or nobody listens. */
  connect(path: string): Promise<Duplex | undefined>
  /** The first address of a name, by the node's files and name servers; undefined when there is none in time. */
  resolve(name: string, within: number): Promise<string | undefined>
  /** Reports whether somebody answers there, be it by a refusal. */
  reach(address: string, port: number, within: number): Promise<boolean>
  /** One agent a node: undefined when another one holds it. Ends with the process, whatever ends it. */
  lock(): Promise<(() => void) | undefined>
  now(): number
  sleep(ms: number): Promise<void>
}

/** Milliseconds. A kernel that does not answer for so long will not answer at all. */
const longestRun = 60_000

/** `ip` runs in this process's own network namespace, or through a prefix such as `ip -n node`. */
export function kernelHost({
  namespace,
  lockName = 'multinic-agent',
}: {
  namespace?: string
  lockName?: string
} = {}): Host {
  return {
    ip: (args, lines) => run('ip', [...(namespace ? ['-n', namespace] : []), ...args], lines),
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
    connect: path => connectTo(path),
    resolve,
    reach,
    lock: () => lock(lockName),
    now: () => Date.now(),
    sleep,
  }
}

/** A child that is waited for costs a third of one that is listened to, and nothing else is to be done meanwhile. */
async function run(command: string, args: readonly string[], lines?: readonly string[]): Promise<Ran> {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    ...(lines ? { input: `${lines.join('\n')}\n` } : { stdio: ['ignore', 'pipe', 'pipe'] }),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: longestRun,
  })
  // A batch that stops at its first error closes its end: the rest of the lines has no reader.
  if (error && !isCode(error, 'EPIPE')) throw new Error(`${command}: ${error.message}`)
  return { code: status ?? 255, stdout, stderr }
}

function readValue(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'EINVAL')) return undefined
    throw error
  }
}

function readFile(path: string): FileState | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return undefined
  const about = { mode: found.mode & 0o7777, uid: found.uid, gid: found.gid }
  if (found.isFile()) return { text: readFileSync(path, 'utf8'), ...about }
  const text = statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : ''
  return { text, ...about, special: true }
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

function connectTo(path: string): Promise<Duplex | undefined> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.once('error', () => resolve(undefined))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}

async function resolve(name: string, within: number): Promise<string | undefined> {
  // Only few need it: it is loaded when it is.
  const { lookup } = process.getBuiltinModule('node:dns/promises')
  return new Promise(resolve => {
    const late = setTimeout(resolve, within, undefined)
    lookup(name, { order: 'verbatim' })
      .then(({ address }) => resolve(address))
      .catch(() => resolve(undefined))
      .finally(() => clearTimeout(late))
  })
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}

function reach(address: string, port: number, within: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: address, port })
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    // While `ip` runs nobody looks at sockets: an answer that came meanwhile is heard first.
    socket.setTimeout(within, () => setImmediate(end, false))
    socket.once('connect', () => end(true))
    socket.once('error', error => end(isCode(error, 'ECONNREFUSED', 'ECONNRESET')))
  })
}

/**
 * A socket without a file: its name belongs to the network namespace, which is the node's, and the kernel frees it when
 * the process ends. A lock file would need a guess about the process that left it.
 */
function lock(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', error => (isCode(error, 'EADDRINUSE') ? resolve(undefined) : reject(error)))
    server.listen(`\0${name}`, () => {
      server.unref()
      resolve(() => void server.close())
    })
  })
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '')
}
