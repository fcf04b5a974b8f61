/**
 * Common parts of the generated reference pages: they exist in English and Korean, and both have the same tables.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Language, languages } from '../src/contract/reasons/catalogue.ts'
import { root } from './test-files.ts'

export type { Language }

const endings: Record<Language, string> = { en: '.md', ko: '.ko.md' }

/** File name of a page in a language: `settings.md`, `settings.ko.md`. */
export const pageName = (name: string, language: Language) => `${name}${endings[language]}`

/**
 * Both languages of a page, by path: where it comes from (`source`, as text), its title, the other language, an introduction, and
 * its body.
 */
export function referencePages<T extends { title: string; text: string }>(
  name: string,
  source: string,
  texts: Record<Language, T>,
  body: (language: Language, texts: T) => string,
): [path: string, text: string][] {
  return languages.map(language => {
    const { title, text } = texts[language]
    const other = language === 'en' ? `[한국어](${pageName(name, 'ko')})` : `[English](${pageName(name, 'en')})`
    const head = `<!-- Made by \`make generate\` from ${source}. Do not edit. -->\n# ${title}\n\n${text} ${other}\n`
    return [`docs/reference/${pageName(name, language)}`, `${head}\n${body(language, texts[language])}`]
  })
}

/** Adds the runs of a file of JSON lines to stored ones. A newer run replaces one with the same key. */
export function storeRuns<Run>(stored: string, lines: string, keyOf: (run: Run) => string): void {
  const read = (file: string) => readFileSync(join(root, file), 'utf8').trim()
  const all = [
    ...JSON.parse(read(stored)),
    ...read(lines)
      .split('\n')
      .map(line => JSON.parse(line)),
  ] as Run[]
  const latest = [...new Map(all.map(run => [keyOf(run), run]))].sort(([a], [b]) => a.localeCompare(b))
  const runs = latest.map(([, run]) => run)
  writeFileSync(join(root, stored), `${JSON.stringify(runs, null, 2)}\n`)
  console.log(`${stored} has ${runs.length} runs; run make generate to write the page`)
}

export function readRuns<Run>(stored: string): Run[] {
  return JSON.parse(readFileSync(join(root, stored), 'utf8'))
}

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return `${line(columns)}${'|---'.repeat(columns.length)}|\n${rows.map(line).join('')}`
}
