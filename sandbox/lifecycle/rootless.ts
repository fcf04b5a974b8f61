/**
 * A sandbox without root: its processes live in a user namespace in which the user is root. They keep this machine's network,
 * so that kubectl and a browser reach them, and have a place of their own for the names of network namespaces.
 */
import { environment } from '../../src/runtime/env.ts'

/** Set for the processes of such a sandbox. */
const sign = 'MULTINIC_SANDBOX_USER'

/** Where /run has no place for the names of network namespaces, nobody but root could make one: an empty /run takes its place. */
const init = `
if [ -d /run/netns ]; then
  mount -t tmpfs -o mode=755 tmpfs /run/netns
else
  resolvers=$(cat /etc/resolv.conf 2>/dev/null || true)
  at=$(readlink -m /etc/resolv.conf)
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir /run/netns
  case $at in /run/*) mkdir -p "\${at%/*}" && echo "$resolvers" > "$at";; esac
fi
export ${sign}=1
exec "$@"
`

/** The command as root of a new user namespace. It keeps its process id. */
export function asRootOfItsOwn(command: string[]): string[] {
  const own = ['unshare', '--user', '--map-root-user', '--mount', '--propagation', 'private']
  return [...own, 'sh', '-e', '-c', init, 'init', ...command]
}

/** Reports whether this process is one of those. */
export function isUsersOwn(): boolean {
  return environment()[sign] === '1'
}

/** The command beside a process that was started so. */
export function beside(pid: number, command: string[]): string[] {
  return ['nsenter', `--target=${pid}`, '--user', '--mount', '--preserve-credentials', ...command]
}
