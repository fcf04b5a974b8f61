/** Runs `ip` and other programs in network namespaces. */
import { execFileSync } from 'node:child_process'

/** Lines may begin with a family. */
export function batch(namespace: string, lines: readonly string[]): void {
  const byFamily = Map.groupBy(lines, line => /^-[46]/.exec(line)?.[0] ?? '')
  const [own, four, six] = ['', '-4', '-6'].map(family => byFamily.get(family) ?? [])
  for (const [family, group] of [
    ['', own],
    ['-4', four],
    ['-6', six],
  ] as const) {
    if (!group || group.length === 0) continue
    const text = group.map(line => line.replace(/^-[46] /, '')).join('\n')
    execFileSync('ip', [...(family ? [family] : []), '-n', namespace, '-batch', '-'], {
      input: `${text}\n`,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
  }
}

export function inside(namespace: string, command: string, ...args: string[]): string {
  return feed(namespace, '', command, ...args)
}

export function feed(namespace: string, input: string, command: string, ...args: string[]): string {
  return execFileSync('nsenter', [`--net=/run/netns/${namespace}`, command, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}
