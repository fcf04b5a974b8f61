/**
 * Preloaded with NODE_OPTIONS=--import=…, it simulates a system other than Linux: another platform name, no /proc, /sys and
 * /run, and no programs that only Linux has.
 */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'

Object.defineProperty(process, 'platform', { value: 'darwin' })

type Functions = Record<string, (...args: unknown[]) => unknown>

const missingPaths = /^\/(proc|sys|run)(\/|$)/
const missingPrograms = ['ip', 'unshare', 'nsenter', 'setpriv', 'mount', 'umount', 'chroot', 'flock', 'sysctl']

/** Replaces functions of a module so that they get another first argument: a path or a program. */
function redirect(functions: Functions, names: readonly string[], replacement: (argument: string) => string): void {
  for (const name of names) {
    const original = functions[name]
    if (original)
      functions[name] = (first, ...more) => original(typeof first === 'string' ? replacement(first) : first, ...more)
  }
}

const reads = ['access', 'lstat', 'open', 'readFile', 'readdir', 'readlink', 'realpath', 'stat']
const writes = ['appendFile', 'mkdir', 'rm', 'writeFile']
const sync = [...reads, ...writes, 'exists'].map(name => `${name}Sync`)
const withoutLinux = (path: string) => (missingPaths.test(path) ? `/no-such-system${path}` : path)
redirect(fs as unknown as Functions, [...sync, 'createReadStream'], withoutLinux)
redirect(fs.promises as unknown as Functions, [...reads, ...writes], withoutLinux)
redirect(childProcess as unknown as Functions, ['spawn', 'spawnSync', 'execFile', 'execFileSync'], file =>
  missingPrograms.includes(basename(file)) ? `/no-such-system/${file}` : file,
)
syncBuiltinESMExports()
