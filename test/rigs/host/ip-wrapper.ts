/**
 * A shell script in place of `ip`, which changes what the agent asks or what it is told.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import type { RigNode } from './node.ts'

/**
 * An environment in which `ip` is this shell script. `$real` is the real program, `$lines` are the commands of one batch,
 * and `nth 2` succeeds when it is called the second time.
 */
export function ipWrapper(node: RigNode, script: string): Record<string, string> {
  const directory = node.path('bin')
  mkdirSync(directory, { recursive: true })
  const text = `#!/bin/sh
real=/sbin/ip
nth() { echo >>"${directory}/calls"; [ $(wc -l <"${directory}/calls") = "$1" ]; }
lines=
case "$*" in *-batch*) lines=$(cat) ;; esac
${script}
if [ -n "$lines" ]; then echo "$lines" | exec $real "$@"; else exec $real "$@"; fi
`
  writeFileSync(`${directory}/ip`, text, { mode: 0o755 })
  return { PATH: `${directory}:/usr/sbin:/usr/bin:/sbin:/bin` }
}
