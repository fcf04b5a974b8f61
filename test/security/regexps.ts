/**
 * The regular expressions of the sources, and which of them may take long: a quantifier within a quantifier, or one that a
 * search begins with, so that every place of the text is a new beginning.
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
    .filter(file => !/\.test\.ts$|\/given\.ts$/.test(file))
    .sort()
  return files.flatMap(file => literalsIn(readFileSync(join(root, file), 'utf8')).map(pattern => ({ file, pattern })))
}

/** A slash begins a pattern where no value stands before it. Comments and texts are passed over. */
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

/** What may be wrong with a pattern; undefined when nothing is. */
export function troubleWith(pattern: string): string | undefined {
  const atoms = parsed(pattern)
  if (atoms.some(atom => nests(atom))) return 'a quantifier within a quantifier'
  const [first, second] = atoms
  if (first?.endless && second) return 'a search that begins with a quantifier'
  return undefined
}

interface Atom {
  /** May be repeated without end. */
  endless: boolean
  /** Alternatives of a group, each a row of atoms. */
  group?: Atom[][]
}

function nests({ endless, group }: Atom): boolean {
  const inner = (group ?? []).flat()
  return inner.some(nests) || (endless && inner.some(hasEndless))
}

function hasEndless({ endless, group }: Atom): boolean {
  return endless || (group ?? []).flat().some(hasEndless)
}

function parsed(pattern: string): Atom[] {
  let at = 0
  function row(): Atom[][] {
    const rows: Atom[][] = [[]]
    while (at < pattern.length && pattern[at] !== ')') {
      if (pattern[at] === '|') {
        at++
        rows.push([])
        continue
      }
      rows.at(-1)?.push(atom())
    }
    return rows
  }
  function atom(): Atom {
    let group: Atom[][] | undefined
    if (pattern[at] === '(') {
      at += /^\(\?(?:<[^>=!]+>|<?[=!:])/.exec(pattern.slice(at))?.[0].length ?? 1
      group = row()
      at++
    } else if (pattern[at] === '[') at += /^\[(?:[^\]\\]|\\.)*\]/.exec(pattern.slice(at))?.[0].length ?? 1
    else at += pattern[at] === '\\' ? 2 : 1
    const quantifier = /^(?:[*+]|\{\d+,\})\??/.exec(pattern.slice(at))?.[0]
    at += quantifier?.length ?? /^(?:\?|\{\d+(?:,\d+)?\})\??/.exec(pattern.slice(at))?.[0].length ?? 0
    return { endless: quantifier !== undefined, ...(group && { group }) }
  }
  return row().flatMap((atoms, index) => (index === 0 ? atoms : [{ endless: false, group: [atoms] }]))
}
