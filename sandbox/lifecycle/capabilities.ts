/**
 * What this machine can hold a sandbox in: namespaces of root, namespaces of a user, or neither.
 */
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../src/runtime/errors.ts'
import { run, systemPath } from '../exec.ts'
import { asRootOfItsOwn } from './rootless.ts'

/** `user`: in a user namespace, without root. `none`: with what stands in the way, in words for people. */
export type Namespaces = { of: 'root' } | { of: 'user' } | { of: 'none'; why: string }

const tools = ['ip', 'nsenter', 'unshare', 'mount', 'chroot', 'setpriv']

/** All that a node and a container are made of, once. */
const trial = `
at=/run/netns/multinic-trial-$$
mkdir -p /run/netns
: > $at
trap 'umount $at 2>/dev/null || :; rm -f $at' EXIT
unshare --net=$at true
nsenter --net=$at unshare --mount --uts --ipc --pid --fork sh -e -c '
mount --make-rprivate /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
ip link add multinic-trial type veth'
`

export async function possibleNamespaces(): Promise<Namespaces> {
  const none = (why: string): Namespaces => ({ of: 'none', why })
  if (process.platform !== 'linux') return none('namespaces need Linux')
  const missing = []
  for (const tool of tools) if (!(await found(tool))) missing.push(tool)
  if (missing.length > 0)
    return none(`${missing.join(', ')} not found; on Debian and Ubuntu: apt-get install iproute2 util-linux`)
  // The root of a user namespace counts as root: whoever made it has seen that it may.
  const isRoot = process.getuid?.() === 0
  const command = ['sh', '-e', '-c', trial]
  const [file = '', ...args] = isRoot ? command : asRootOfItsOwn(command)
  try {
    await run(file, args)
    return { of: isRoot ? 'root' : 'user' }
  } catch (error) {
    const said = messageOf(error)
      .split('\n')
      .at(-1)
      ?.replace(/^[\s:]+/, '')
    return none(`this system does not allow namespaces${isRoot ? '' : ' to users'} (${said})`)
  }
}

async function found(tool: string): Promise<boolean> {
  for (const directory of systemPath.split(':')) {
    const there = await access(join(directory, tool), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return true
  }
  return false
}
