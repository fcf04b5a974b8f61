/**
 * A sandbox without root: its processes run in a user namespace in which the user is root. They keep the network of this
 * machine, so that kubectl and a browser reach them, and get a /run/netns of their own.
 */
import { environment } from '../../src/runtime/env.ts'

/** Set in the environment of these processes. */
const marker = 'MULTINIC_SANDBOX_USER'

/** Where /run/netns does not exist, only root could create it: then an empty tmpfs replaces /run. */
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
export ${marker}=1
exec "$@"
`

/** Runs a command as root of a new user namespace. The command keeps its process id. */
export function inNewUserNamespace(command: string[]): string[] {
  const own = ['unshare', '--user', '--map-root-user', '--mount', '--propagation', 'private']
  return [...own, 'sh', '-e', '-c', init, 'init', ...command]
}

/** Reports whether this process runs in such a user namespace. */
export function isInUserNamespace(): boolean {
  return environment()[marker] === '1'
}

/** Runs a command in the user namespace of another process. */
export function inUserNamespaceOf(pid: number, command: string[]): string[] {
  return ['nsenter', `--target=${pid}`, '--user', '--mount', '--preserve-credentials', ...command]
}
