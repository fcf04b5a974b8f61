/**
 * Which servers spec.vmSelector selects. Pure.
 */

/** Conditions on a server. All that are set must be met. */
export interface ServerSelector {
  /** Of the whole name: `*` stands for any characters, `?` for one. */
  namePattern?: string | undefined
  metadata?: Readonly<Record<string, string>> | undefined
  tags?: readonly string[] | undefined
}

interface Selectable {
  /** Empty if it is not known. */
  name: string
  metadata?: Readonly<Record<string, string>> | undefined
  tags?: readonly string[] | undefined
}

/** Without the tags of the server, by its name and metadata only. */
export function isSelected(
  server: Selectable,
  { namePattern = '*', metadata = {}, tags = [] }: ServerSelector,
): boolean {
  return (
    matchesPattern(namePattern, server.name) &&
    Object.entries(metadata).every(([key, value]) => ownValue(server, key) === value) &&
    (server.tags === undefined || tags.every(tag => server.tags?.includes(tag)))
  )
}

/** Whether the server has everything that the conditions are about. An answer without it says nothing about them. */
export function isDecidable(server: Selectable, { namePattern, metadata = {}, tags = [] }: ServerSelector): boolean {
  return (
    (namePattern === undefined || server.name !== '') &&
    (Object.keys(metadata).length === 0 || server.metadata !== undefined) &&
    (tags.length === 0 || server.tags !== undefined)
  )
}

function ownValue({ metadata = {} }: Selectable, key: string): string | undefined {
  return Object.hasOwn(metadata, key) ? metadata[key] : undefined
}

/** Not a regular expression: a tenant writes the pattern, and one with many stars would keep the process busy for hours. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [wanted, given] = [[...pattern], [...name]]
  let [at, from] = [0, 0]
  /** The last star, and the first character after what it stands for. */
  let star: { at: number; from: number } | undefined
  while (from < given.length) {
    if (wanted[at] === '*') star = { at: at++, from }
    else if (wanted[at] === '?' || wanted[at] === given[from]) [at, from] = [at + 1, from + 1]
    else if (star) [at, from] = [star.at + 1, ++star.from]
    else return false
  }
  return wanted.slice(at).every(character => character === '*')
}

/** What every name that matches starts with. */
export function prefixOf(pattern: string): string {
  return /^[^*?]*/.exec(pattern)?.[0] ?? ''
}
