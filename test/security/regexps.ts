/**
 * The regular expressions of the sources, and which of them may be slow: nested quantifiers, or a quantifier at the beginning
 * of an unanchored pattern, so that every position of the text is a new start.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Found {
  file: string
  pattern: string
  trouble: string
}

const root = join(import.meta.dirname, '../..')

export function regexpsIn(folders: readonly string[]): { file: string; pattern: string }[] {
  const files = globSync(
    folders.map(folder => `${folder}/**/*.{ts,tsx}`),
    { cwd: root },
  )
    .filter(file => !/\.(test|fixture)\.ts$/.test(file))
    .sort()
  return files.flatMap(file => literalsIn(readFileSync(join(root, file), 'utf8')).map(pattern => ({ file, pattern })))
}

/** A slash begins a pattern unless a value precedes it. Skips comments and strings. */
export function literalsIn(source: string): string[] {
  const found: string[] = []
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g
  for (const match of source.matchAll(token)) {
    const [text] = match
    if (!text.startsWith('/') || /^\/[/*]/.test(text)) continue
    const before = source.slice(0, match.index).trimEnd()
    if (/[\w)\]}$]$/.test(before) && !/\b(?:return|typeof|case)$/.test(before)) continue
    found.push(text.slice(1, text.lastIndexOf('/')))
  }
  return found
}

/** Why a pattern may be slow, or undefined. */
export function riskOf(pattern: string): string | undefined {
  const atoms = parse(pattern)
  if (atoms.some(atom => nests(atom))) return 'nested quantifiers'
  const [first, second] = atoms
  if (first?.unbounded && second) return 'a quantifier at the beginning'
  return undefined
}

interface Atom {
  /** May repeat without limit. */
  unbounded: boolean
  /** Alternatives of a group, each a sequence of atoms. */
  group?: Atom[][]
}

function nests({ unbounded, group }: Atom): boolean {
  const inner = (group ?? []).flat()
  return inner.some(nests) || (unbounded && inner.some(hasUnbounded))
}

function hasUnbounded({ unbounded, group }: Atom): boolean {
  return unbounded || (group ?? []).flat().some(hasUnbounded)
}

function parse(pattern: string): Atom[] {
  let at = 0
  function alternatives(): Atom[][] {
    const sequences: Atom[][] = [[]]
    while (at < pattern.length && pattern[at] !== ')') {
      if (pattern[at] === '|') {
        at++
        sequences.push([])
        continue
      }
      sequences.at(-1)?.push(atom())
    }
    return sequences
  }
  function atom(): Atom {
    let group: Atom[][] | undefined
    if (pattern[at] === '(') {
      at += /^\(\?(?:<[^>=!]+>|<?[=!:])/.exec(pattern.slice(at))?.[0].length ?? 1
      group = alternatives()
      at++
    } else if (pattern[at] === '[') at += /^\[(?:[^\]\\]|\\.)*\]/.exec(pattern.slice(at))?.[0].length ?? 1
    else at += pattern[at] === '\\' ? 2 : 1
    const quantifier = /^(?:[*+]|\{\d+,\})\??/.exec(pattern.slice(at))?.[0]
    at += quantifier?.length ?? /^(?:\?|\{\d+(?:,\d+)?\})\??/.exec(pattern.slice(at))?.[0].length ?? 0
    return { unbounded: quantifier !== undefined, ...(group && { group }) }
  }
  return alternatives().flatMap((atoms, index) => (index === 0 ? atoms : [{ unbounded: false, group: [atoms] }]))
}
