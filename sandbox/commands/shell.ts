/**
 * A shell on a node. In a namespace it has the network, hostname, /etc, /sys and /var/lib of the node; everything else comes from
 * this machine.
 */
import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { environment } from '../../src/runtime/env.ts'
import type { ControlClient, NamespaceLocation } from '../control/client.ts'
import { inUserNamespaceOf } from '../lifecycle/rootless.ts'

type NodeShell = Pick<ControlClient, 'node' | 'run'>

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
# /sys shows the devices of the network namespace in which it is mounted.
mount -t sysfs sysfs /sys
exec "$@"
`

/** The process that runs a command in the namespace of a node. */
function nodeCommand(name: string, { namespace, root, userNamespacePid }: NamespaceLocation, command: string[]) {
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
export async function openShell(control: NodeShell, name: string, command: string[]): Promise<number> {
  const location = await control.node(name)
  if ('virtualMachine' in location) return shellOnMachine(control, name, command)
  const shell = command.length > 0 ? command : [environment()['SHELL'] ?? '/bin/sh']
  const { file, args, env } = nodeCommand(name, location, shell)
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env })
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}

/** Output of a shell command on a node, stderr included; a failing command is not an error. */
export async function runOnNode(control: NodeShell, name: string, line: string): Promise<string> {
  const location = await control.node(name)
  if ('virtualMachine' in location) {
    const { stdout, stderr } = await control.run(name, line)
    return `${stdout}${stderr}`.trimEnd()
  }
  const { file, args, env } = nodeCommand(name, location, ['/bin/sh', '-c', line])
  return new Promise((resolve, reject) => {
    execFile(file, args, { env, timeout: 60_000 }, (error, out, err) => {
      if (error && error.code === 'ENOENT') reject(error)
      else resolve(`${out}${err}`.trimEnd())
    })
  })
}

/** A virtual machine has no terminal: each line runs in a shell of its own. */
async function shellOnMachine(control: NodeShell, name: string, command: string[]): Promise<number> {
  const runScript = async (script: string) => {
    const { code, stdout, stderr } = await control.run(name, script)
    process.stdout.write(stdout)
    process.stderr.write(stderr)
    return code
  }
  if (command.length > 0) return runScript(command.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' '))
  console.error('each line runs in a new shell; "exit" or Ctrl-D ends')
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: `${name}# ` })
  lines.prompt()
  let code = 0
  for await (const line of lines) {
    if (line.trim() === 'exit') break
    if (line.trim() !== '') code = await runScript(line)
    lines.prompt()
  }
  lines.close()
  return code
}
