/**
 * Loaded first (NODE_OPTIONS=--import=…), it lets a process find itself on another system than Linux: by its name, without
 * /proc, /sys and /run, and without the programs that only Linux has.
 */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'

Object.defineProperty(process, 'platform', { value: 'darwin' })

type Act = (...args: unknown[]) => unknown
type Acts = Record<string, Act>

const absent = /^\/(proc|sys|run)(\/|$)/
const unknown = ['ip', 'unshare', 'nsenter', 'setpriv', 'mount', 'umount', 'chroot', 'flock', 'sysctl']

/** The same function, told of another path or program where this system would not have the one that was named. */
function withOther(acts: Acts, names: readonly string[], other: (named: string) => string): void {
  for (const name of names) {
    const act = acts[name]
    if (act) acts[name] = (first, ...more) => act(typeof first === 'string' ? other(first) : first, ...more)
  }
}

const reads = ['access', 'lstat', 'open', 'readFile', 'readdir', 'readlink', 'realpath', 'stat']
const writes = ['appendFile', 'mkdir', 'rm', 'writeFile']
const sync = [...reads, ...writes, 'exists'].map(name => `${name}Sync`)
const elsewhere = (path: string) => (absent.test(path) ? `/no-such-system${path}` : path)
withOther(fs as unknown as Acts, [...sync, 'createReadStream'], elsewhere)
withOther(fs.promises as unknown as Acts, [...reads, ...writes], elsewhere)
withOther(childProcess as unknown as Acts, ['spawn', 'spawnSync', 'execFile', 'execFileSync'], file =>
  unknown.includes(basename(file)) ? `/no-such-system/${file}` : file,
)
syncBuiltinESMExports()
