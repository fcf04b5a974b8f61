/**
 * A shell on a node: with its network, hostname, /etc and /var/lib; everything else comes from this machine.
 */
import { execFile, spawn } from 'node:child_process'
import { environment } from '../../src/runtime/env.ts'
import type { NodeLocation } from '../control/client.ts'
import { inUserNamespaceOf } from '../lifecycle/rootless.ts'

/** Rebuilds a directory from symlinks to the entries of the machine, then mounts the entries of the node over them. */
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

/** The process that runs a command on a node. */
function nodeCommand(name: string, { namespace, root, userNamespacePid }: NodeLocation, command: string[]) {
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
  const inside = [...into, root, name, ...command]
  const [file = '', ...args] = userNamespacePid === undefined ? inside : inUserNamespaceOf(userNamespacePid, inside)
  return { file, args, env: { ...environment(), PS1: `${name}# ` } }
}

/** Resolves with the exit code of the shell. */
export function openShell(name: string, location: NodeLocation, command: string[]): Promise<number> {
  const shell = command.length > 0 ? command : [environment()['SHELL'] ?? '/bin/sh']
  const { file, args, env } = nodeCommand(name, location, shell)
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env })
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}

/** Output of a shell command on a node, stderr included; a failing command is not an error. */
export function runOnNode(name: string, location: NodeLocation, line: string): Promise<string> {
  const { file, args, env } = nodeCommand(name, location, ['/bin/sh', '-c', line])
  return new Promise((resolve, reject) => {
    execFile(file, args, { env, timeout: 60_000 }, (error, out, err) => {
      if (error && error.code === 'ENOENT') reject(error)
      else resolve(`${out}${err}`.trimEnd())
    })
  })
}
