/**
 * A minimal container: the network namespace of the node, its own mount, pid and hostname namespaces, a read-only root with the
 * programs of this machine, the volumes of the Pod, and only the requested capabilities.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { systemPath } from '../exec.ts'
import { processMarker } from '../lifecycle/state-dir.ts'

export interface Mount {
  /** Path on this machine. */
  source: string
  /** Path in the container. */
  target: string
  readOnly: boolean
  kind: 'directory' | 'file'
}

export interface ContainerOptions {
  /** For the root, the log and the termination message of the container. */
  dir: string
  namespace: string
  hostname: string
  /** /sys/class of the container: the identity of the node (dmi), and an empty directory (net) for its NICs. */
  sysClass: string
  /** Environment that marks the processes around the container; the container itself does not get it. */
  marker: Record<string, string>
  command: string[]
  env: Record<string, string>
  mounts: Mount[]
  capabilities: string[]

  terminationMessagePath: string
}

export interface ContainerExit {
  exitCode: number
  signal?: NodeJS.Signals
}

export interface RunningContainer {
  readonly startedAt: Date
  readonly logFile: string
  readonly messageFile: string
  readonly ended: Promise<ContainerExit>
  /** Sends a signal to the first process in the container, as a container runtime does. */
  signal(name: NodeJS.Signals): void
}

const systemDirectories = ['usr', 'bin', 'sbin', 'lib', 'lib64'].filter(name => existsSync(`/${name}`))
const devices = ['null', 'zero', 'full', 'random', 'urandom']

/** First process in the new namespaces. Arguments: hostname, fstab, root, capabilities, command. */
const init = `
hostname "$1" 2>/dev/null || echo "$1" > /proc/sys/kernel/hostname
mount --all --fstab "$2"
root=$3 caps=$4
shift 4
echo >&3
exec 3>&-
unset ${processMarker}
exec chroot "$root" /usr/bin/setpriv --no-new-privs --bounding-set="$caps" --inh-caps="$caps" -- "$@"
`

export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  const { dir, namespace, hostname, marker, command, env, capabilities } = options
  const root = join(dir, 'root')
  const messageFile = join(dir, 'termination-log')
  const logFile = join(dir, 'log')
  const fstab = join(dir, 'fstab')
  await mkdir(root, { recursive: true })
  await writeFile(messageFile, '')
  const mounts = [...options.mounts, file(messageFile, options.terminationMessagePath, false)]
  await makeMountPoints(root, mounts)
  await writeFile(fstab, fstabOf(root, options.sysClass, mounts))

  const output = openSync(logFile, 'a')
  // Own process group: Ctrl-C in the terminal of the sandbox must not reach the container.
  const child = spawn(
    'nsenter',
    [
      `--net=/run/netns/${namespace}`,
      ...['unshare', '--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child'],
      ...['sh', '-e', '-c', init, 'init', hostname, fstab, root, capabilitySet(capabilities), ...command],
    ],
    { stdio: ['ignore', output, output, 'pipe'], env: { PATH: systemPath, ...env, ...marker }, detached: true },
  )
  closeSync(output)
  const ended = exitOf(child)
  await Promise.race([firstOutputOn(child, 3), ended])
  return {
    startedAt: new Date(),
    logFile,
    messageFile,
    ended,
    signal: name => signalFirst(child, name),
  }
}

export function file(source: string, target: string, readOnly = true): Mount {
  return { source, target, readOnly, kind: 'file' }
}

async function makeMountPoints(root: string, mounts: Mount[]): Promise<void> {
  const directories = [...systemDirectories, 'proc', 'sys', 'dev', 'tmp']
  for (const directory of directories) await mkdir(join(root, directory), { recursive: true })
  for (const device of devices) await writeFile(join(root, 'dev', device), '')
  for (const { target, kind } of mounts) {
    const at = join(root, target)
    await mkdir(kind === 'directory' ? at : dirname(at), { recursive: true })
    if (kind === 'file') await writeFile(at, '', { flag: 'a' })
  }
}

/** One `mount --all` for all entries: a process per mount would cost more than the container itself. */
function fstabOf(root: string, sysClass: string, mounts: Mount[]): string {
  const points = mountPoints()
  const bind = (source: string, target: string, options: string) => {
    const inherited = options.endsWith('ro') ? restrictionsOf(source, points) : []
    return `${escaped(source)} ${escaped(target)} none ${[options, ...inherited].join(',')} 0 0`
  }
  return [
    // Must come first: mounts below it may be writable.
    bind(root, root, 'bind,ro'),
    ...systemDirectories.map(name => bind(`/${name}`, join(root, name), 'rbind,ro')),
    `proc ${escaped(join(root, 'proc'))} proc nosuid,nodev,noexec 0 0`,
    `sysfs ${escaped(join(root, 'sys'))} sysfs ro,nosuid,nodev,noexec 0 0`,
    // The kernel would show the identity of this machine, or none.
    bind(join(root, 'sys/class/net'), join(sysClass, 'net'), 'bind'),
    bind(sysClass, join(root, 'sys/class'), 'rbind,ro'),
    bind(join(root, 'proc/sys'), join(root, 'proc/sys'), 'bind,ro'),
    ...devices.map(name => bind(`/dev/${name}`, join(root, 'dev', name), 'bind')),
    ...mounts.map(({ source, target, readOnly }) => bind(source, join(root, target), readOnly ? 'bind,ro' : 'bind')),
    '',
  ].join('\n')
}

interface MountPoint {
  path: string
  options: string[]
}

function mountPoints(): MountPoint[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')
  return lines.map(line => {
    const fields = line.split(' ')
    return { path: (fields[4] ?? '').replaceAll('\\040', ' '), options: (fields[5] ?? '').split(',') }
  })
}

/** Root of a user namespace may not drop these options when it remounts read-only. */
function restrictionsOf(path: string, points: MountPoint[]): string[] {
  const above = points.filter(point => point.path === '/' || path === point.path || path.startsWith(`${point.path}/`))
  const nearest = above.reduce<MountPoint | undefined>(
    (best, each) => (best && best.path.length > each.path.length ? best : each),
    undefined,
  )
  return ['nosuid', 'nodev', 'noexec'].filter(option => nearest?.options.includes(option))
}

function escaped(path: string): string {
  return path.replaceAll('\\', '\\134').replaceAll(' ', '\\040').replaceAll('\t', '\\011').replaceAll('\n', '\\012')
}

function capabilitySet(names: string[]): string {
  return ['-all', ...names.map(name => `+${name.toLowerCase()}`)].join(',')
}

function exitOf(child: ChildProcess): Promise<ContainerExit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      resolve(signal ? { exitCode: 128 + constants.signals[signal], signal } : { exitCode: code ?? 255 }),
    )
  })
}

/** Resolves at the first output on a descriptor: the mounts are done and the program of the container starts next. */
function firstOutputOn(child: ChildProcess, descriptor: number): Promise<void> {
  return new Promise(resolve => child.stdio[descriptor]?.once('data', () => resolve()))
}

/** `unshare` runs outside of the pid namespace; its only child is the first process of the container. */
function signalFirst({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    const first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
    // Pid 0 would signal our own process group.
    if (first > 0) process.kill(first, name)
  } catch {
    // The container has exited meanwhile.
  }
}
