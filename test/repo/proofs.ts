/** The tests that a page names as `[src/x.test.ts](../../src/x.test.ts): ` and the name in backticks. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './sources.ts'

export interface Proof {
  file: string
  /** Of a test, of a case in a table of tests, or of a figure of a bench. A template is named as in the source, or with `…`. */
  name: string
}

/** At the end of a list item or of a table row. */
export function proofsIn(text: string): Proof[] {
  const proofs = text.matchAll(/^[-|] .*?\[([^\]]+\.ts)\]\(\.\.\/\.\.\/\1\): `([^`]+)`(?: \|)?$/gm)
  return [...proofs].map(([, file = '', name = '']) => ({ file, name }))
}

export function proofExists({ file, name }: Proof): boolean {
  const path = join(root, file)
  if (!existsSync(path)) return false
  const source = readFileSync(path, 'utf8')
  const text = name.includes('…') ? source.replaceAll(/\$\{[^}]*\}/g, '…') : source
  const isQuoted = (what: string, after: RegExp) =>
    ["'", '`'].some(quote =>
      text
        .split(`${quote}${what}${quote}`)
        .slice(0, -1)
        .some(before => after.test(before)),
    )
  if (isQuoted(name, /(\btest\(\s*|\n +|\bfigure\()$/)) return true
  // A case of the attack suite is named after its finding: `F2: …`.
  const [, finding, attack] = /^(.+?): (.+)$/.exec(name) ?? []
  if (!file.startsWith('test/attacks/') || !finding || !attack) return false
  return isQuoted(finding, /(\bfinding(:| =)| [?:]) $/) && isQuoted(attack, /\bname: $/)
}
