/**
 * How files of systemd, udev and NetworkManager select a NIC: their sections and patterns. Their paths are those of the host.
 *
 * Pure.
 */
import type { FileState, Observed } from '../state/observed.ts'

/** All NICs ask for the same directories. */
const sortedFiles = new WeakMap<Observed['files'], Map<string, [path: string, file: FileState][]>>()

export function filesIn(directory: string, extension: string, { files }: Observed): [path: string, file: FileState][] {
  const known = sortedFiles.get(files) ?? new Map<string, [path: string, file: FileState][]>()
  sortedFiles.set(files, known)
  const found =
    known.get(directory + extension) ??
    Object.entries(files)
      .filter(([path]) => path.startsWith(`${directory}/`) && path.endsWith(extension))
      .sort(([a], [b]) => (a < b ? -1 : 1))
  known.set(directory + extension, found)
  return found
}

/** Values by key of all sections with this name. As in systemd, an empty value discards those before it. */
export function sectionOf(text: string, name: string): Record<string, string[]> {
  const values: Record<string, string[]> = {}
  let inside = false
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    if (/^\s*([#;]|$)/.test(line)) continue
    if (/^\s*\[/.test(line)) inside = new RegExp(`^\\s*\\[${name}\\]`).test(line)
    const [, key, value = ''] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (!inside || key === undefined) continue
    values[key] = value === '' ? [] : [...(values[key] ?? []), value]
  }
  return Object.fromEntries(Object.entries(values).filter(([, list]) => list.length > 0))
}

/** Shell patterns. `!` before the first one inverts the list. */
export function matchesAny(patterns: readonly string[], names: readonly string[]): boolean {
  const inverted = patterns[0]?.startsWith('!') ?? false
  const matches = patterns.some((pattern, index) => {
    const expression = globExpression(inverted && index === 0 ? pattern.slice(1) : pattern)
    return names.some(name => expression.test(name))
  })
  return matches !== inverted
}

function globExpression(pattern: string): RegExp {
  const escaped = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  try {
    return new RegExp(`^${escaped.replaceAll('[!', '[^')}$`)
  } catch {
    return /^/
  }
}

/** systemd accepts colons, hyphens and dots. */
export function plainMac(text: string): string {
  return text.toLowerCase().replace(/[:.-]/g, '')
}

/** `/host/run/systemd/network/x` is mounted from `/run/systemd/network/x`. */
export function hostPath(path: string): string {
  return path.replace('/host/', '/')
}
