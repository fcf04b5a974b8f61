/**
 * Whether this machine can hold a sandbox at all: root, network and mount namespaces, and the tools for them.
 */
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { run, systemPath } from './command.ts'

const tools = ['ip', 'nsenter', 'unshare', 'mount', 'chroot', 'setpriv']

/** What stands in the way, in words for people; undefined when nothing does. */
export async function whyNot(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the sandbox needs Linux: its nodes are network namespaces'
  if (process.getuid?.() !== 0)
    return 'the sandbox needs root for network and mount namespaces; run it with sudo, or in a container that may make them'
  const missing = []
  for (const tool of tools) if (!(await found(tool))) missing.push(tool)
  if (missing.length > 0)
    return `the sandbox needs ${missing.join(', ')}; on Debian and Ubuntu: apt-get install iproute2 util-linux`
  try {
    await run('unshare', ['--net', '--mount', '--uts', '--pid', '--ipc', '--fork', 'mount', '--make-rprivate', '/'])
  } catch (error) {
    return `this system does not allow namespaces, which the nodes are made of (${messageOf(error)})`
  }
  return undefined
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
