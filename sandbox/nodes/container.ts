/**
 * A container, as small as it can be and still honest: the node's network namespace, mount, pid and hostname namespaces of its
 * own, a read-only root with this machine's programs, the Pod's volumes at their paths, and no more capabilities than asked for.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { systemPath } from '../exec.ts'
import { partMark } from '../lifecycle/state-dir.ts'

export interface Mount {
  /** On this machine. */
  source: string
  /** In the container. */
  target: string
  readOnly: boolean
  kind: 'directory' | 'file'
}

export interface ContainerOptions {
  /** Where the container keeps its root, its log and its last words. */
  dir: string
  namespace: string
  hostname: string
  /** What the processes around it are known by; itself it does not see it. */
  mark: Record<string, string>
  command: string[]
  env: Record<string, string>
  mounts: Mount[]
  capabilities: string[]
  /** The file in the container that takes its last words. */
  terminationMessagePath: string
}

export interface Ended {
  exitCode: number
  signal?: NodeJS.Signals
}

export interface RunningContainer {
  readonly startedAt: Date
  readonly logFile: string
  readonly messageFile: string
  readonly ended: Promise<Ended>
  /** To the first process in the container, as a container runtime does. */
  signal(name: NodeJS.Signals): void
}

const systemDirectories = ['usr', 'bin', 'sbin', 'lib', 'lib64'].filter(name => existsSync(`/${name}`))
const devices = ['null', 'zero', 'full', 'random', 'urandom']

/** Runs as the first process of the new namespaces; hostname, fstab, root and the command are its arguments. */
const init = `
hostname "$1" 2>/dev/null || echo "$1" > /proc/sys/kernel/hostname
mount --all --fstab "$2"
root=$3 caps=$4
shift 4
echo >&3
exec 3>&-
unset ${partMark}
exec chroot "$root" /usr/bin/setpriv --no-new-privs --bounding-set="$caps" --inh-caps="$caps" -- "$@"
`

export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  const { dir, namespace, hostname, mark, command, env, capabilities } = options
  const root = join(dir, 'root')
  const messageFile = join(dir, 'termination-log')
  const logFile = join(dir, 'log')
  const fstab = join(dir, 'fstab')
  await mkdir(root, { recursive: true })
  await writeFile(messageFile, '')
  const mounts = [...options.mounts, file(messageFile, options.terminationMessagePath, false)]
  await makeMountPoints(root, mounts)
  await writeFile(fstab, fstabOf(root, mounts))

  const output = openSync(logFile, 'a')
  // Own process group: a Ctrl-C in the terminal of the sandbox is not meant for it.
  const child = spawn(
    'nsenter',
    [
      `--net=/run/netns/${namespace}`,
      ...['unshare', '--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child'],
      ...['sh', '-e', '-c', init, 'init', hostname, fstab, root, capabilitySet(capabilities), ...command],
    ],
    { stdio: ['ignore', output, output, 'pipe'], env: { PATH: systemPath, ...env, ...mark }, detached: true },
  )
  closeSync(output)
  const ended = endOf(child)
  await Promise.race([saidOn(child, 3), ended])
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

/** One `mount` for all: a process each would cost more than the container itself. */
function fstabOf(root: string, mounts: Mount[]): string {
  const points = mountPoints()
  const bind = (source: string, target: string, options: string) => {
    const kept = options.endsWith('ro') ? restrictionsOf(source, points) : []
    return `${escaped(source)} ${escaped(target)} none ${[options, ...kept].join(',')} 0 0`
  }
  return [
    // First, so that what is mounted in it stays writable where it may be.
    bind(root, root, 'bind,ro'),
    ...systemDirectories.map(name => bind(`/${name}`, join(root, name), 'rbind,ro')),
    `proc ${escaped(join(root, 'proc'))} proc nosuid,nodev,noexec 0 0`,
    `sysfs ${escaped(join(root, 'sys'))} sysfs ro,nosuid,nodev,noexec 0 0`,
    bind(join(root, 'proc/sys'), join(root, 'proc/sys'), 'bind,ro'),
    ...devices.map(name => bind(`/dev/${name}`, join(root, 'dev', name), 'bind')),
    ...mounts.map(({ source, target, readOnly }) => bind(source, join(root, target), readOnly ? 'bind,ro' : 'bind')),
    '',
  ].join('\n')
}

interface MountPoint {
  at: string
  options: string[]
}

function mountPoints(): MountPoint[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')
  return lines.map(line => {
    const fields = line.split(' ')
    return { at: (fields[4] ?? '').replaceAll('\\040', ' '), options: (fields[5] ?? '').split(',') }
  })
}

/** The root of a user namespace may not drop them when it makes something read-only. */
function restrictionsOf(path: string, points: MountPoint[]): string[] {
  const under = points.filter(({ at }) => at === '/' || path === at || path.startsWith(`${at}/`))
  const nearest = under.reduce<MountPoint | undefined>(
    (best, each) => (best && best.at.length > each.at.length ? best : each),
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

function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      resolve(signal ? { exitCode: 128 + constants.signals[signal], signal } : { exitCode: code ?? 255 }),
    )
  })
}

/** The first word on a descriptor: all is mounted, and the container's own program comes next. */
function saidOn(child: ChildProcess, descriptor: number): Promise<void> {
  return new Promise(resolve => child.stdio[descriptor]?.once('data', () => resolve()))
}

/** `unshare` waits outside of the pid namespace; its only child is the container's first process. */
function signalFirst({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    const first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
    // Zero would be our own process group.
    if (first > 0) process.kill(first, name)
  } catch {
    // It has ended meanwhile.
  }
}
