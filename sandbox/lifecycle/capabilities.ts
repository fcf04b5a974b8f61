/**
 * What this machine supports: namespaces as root, namespaces as a normal user, or none.
 */
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../src/runtime/errors.ts'
import { run, systemPath } from '../exec.ts'
import { inNewUserNamespace } from './rootless.ts'

/** `user`: in a user namespace, without root. */
export type NamespaceSupport = { owner: 'root' } | { owner: 'user' } | { owner: 'none'; reason: string }

const machineTools = ['qemu-system-x86_64', 'mmdebstrap', 'mke2fs', 'debugfs', 'nbdkit']
const tools = ['ip', 'nsenter', 'unshare', 'mount', 'flock', 'chroot', 'setpriv']

/** Creates everything that a node and a container need, once. */
const probe = `
at=/run/netns/multinic-probe-$$
mkdir -p /run/netns
: > $at
trap 'umount $at 2>/dev/null || :; rm -f $at' EXIT
unshare --net=$at true
nsenter --net=$at unshare --mount --uts --ipc --pid --fork sh -e -c '
mount --make-rprivate /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
ip link add multinic-probe type veth'
`

export async function detectNamespaceSupport(): Promise<NamespaceSupport> {
  const none = (reason: string): NamespaceSupport => ({ owner: 'none', reason })
  if (process.platform !== 'linux') return none('namespaces require Linux')
  const missing = await notInstalled(tools)
  if (missing.length > 0)
    return none(`${missing.join(', ')} not found; on Debian and Ubuntu: apt-get install iproute2 util-linux`)
  // Root of a user namespace counts as root: the process that created the namespace has run this probe already.
  const isRoot = process.getuid?.() === 0
  const command = ['sh', '-e', '-c', probe]
  const [file = '', ...args] = isRoot ? command : inNewUserNamespace(command)
  try {
    await run(file, args)
    return { owner: isRoot ? 'root' : 'user' }
  } catch (error) {
    const lastLine = messageOf(error)
      .split('\n')
      .at(-1)
      ?.replace(/^[\s:]+/, '')
    return none(`this system does not allow ${isRoot ? '' : 'users to create '}namespaces (${lastLine})`)
  }
}

/** Throws with what this machine lacks for nodes that are virtual machines. */
export async function assertVirtualMachines(): Promise<void> {
  const support = await detectNamespaceSupport()
  if (support.owner === 'none') throw new Error(`--vm: ${support.reason}`)
  if (support.owner === 'user') throw new Error('--vm requires root')
  const missing = await notInstalled(machineTools)
  if (missing.length > 0) throw new Error(`--vm: ${missing.join(', ')} not found; run scripts/provision.sh vm as root`)
}

async function notInstalled(programs: readonly string[]): Promise<string[]> {
  const missing = []
  for (const program of programs) if (!(await isInstalled(program))) missing.push(program)
  return missing
}

async function isInstalled(tool: string): Promise<boolean> {
  for (const directory of systemPath.split(':')) {
    const executable = await access(join(directory, tool), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (executable) return true
  }
  return false
}
