/**
 * A shell on a node: its network, its hostname, its /etc and its /var/lib/multinic; all else is this machine's.
 */
import { execFile, spawn } from 'node:child_process'
import { environment } from '../../src/runtime/env.ts'
import type { NodePlace } from '../control/client.ts'
import { beside } from '../lifecycle/rootless.ts'

/** Directories are rebuilt from links to the machine's own entries, so that the node's can take their place. */
const init = `
root=$1 name=$2
shift 2
hostname "$name" 2>/dev/null || echo "$name" > /proc/sys/kernel/hostname
over() {
  mkdir -p "$stage$1"
  mount --rbind "$1" "$stage$1"
  mount -t tmpfs -o mode=755 tmpfs "$1"
  for entry in "$stage$1"/*; do ln -s "$entry" "$1/\${entry##*/}"; done
  for entry in "$root$1"/*; do
    to=$1/\${entry##*/}
    rm -f "$to"
    if [ -d "$entry" ]; then mkdir "$to"; else : > "$to"; fi
    mount --bind "$entry" "$to"
  done
}
stage=/mnt
mount -t tmpfs -o mode=755 tmpfs "$stage"
over /etc
mkdir -p "$root/var/lib/multinic"
over /var/lib
exec "$@"
`

/** What has to be started so that a command runs on a node. */
function onNode(name: string, { namespace, root, holder }: NodePlace, command: string[]) {
  const into = [
    'nsenter',
    `--net=/run/netns/${namespace}`,
    'unshare',
    '--mount',
    '--uts',
    'sh',
    '-e',
    '-c',
    init,
    'shell',
  ]
  const there = [...into, root, name, ...command]
  const [file = '', ...args] = holder === undefined ? there : beside(holder, there)
  return { file, args, env: { ...environment(), PS1: `${name}# ` } }
}

/** The shell's exit code. */
export function openShell(name: string, place: NodePlace, command: string[]): Promise<number> {
  const shell = command.length > 0 ? command : [environment()['SHELL'] ?? '/bin/sh']
  const { file, args, env } = onNode(name, place, shell)
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env })
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}

/** What a line of shell says on a node; it may fail, and then its error is part of that. */
export function saidOn(name: string, place: NodePlace, line: string): Promise<string> {
  const { file, args, env } = onNode(name, place, ['/bin/sh', '-c', line])
  return new Promise((resolve, reject) => {
    execFile(file, args, { env, timeout: 60_000 }, (error, out, err) => {
      if (error && error.code === 'ENOENT') reject(error)
      else resolve(`${out}${err}`.trimEnd())
    })
  })
}
