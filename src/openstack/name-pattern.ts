/**
 * Patterns of server names: `*` stands for any characters, `?` for one. Pure.
 *
 * Not a regular expression: a tenant writes the pattern, and one with many stars would keep the process busy for hours.
 */
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
