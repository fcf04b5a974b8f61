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

/** Both languages of a page, by path. */
export function referencePages(name: string, page: (language: Language) => string): [path: string, text: string][] {
  return languages.map(language => [`docs/reference/${pageName(name, language)}`, page(language)])
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

interface Introduction {
  /** Name of the page without its ending. */
  name: string
  /** Files that the page is generated from. */
  source: string
  language: Language
  title: string
  text: string
}

/** The first lines of a page: where it comes from, its title, the other language, an introduction. */
export function introduction({ name, source, language, title, text }: Introduction): string {
  const other = language === 'en' ? `[한국어](${pageName(name, 'ko')})` : `[English](${pageName(name, 'en')})`
  return `<!-- Made by \`make generate\` from ${source}. Do not edit. -->\n# ${title}\n\n${text} ${other}\n`
}

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return `${line(columns)}${'|---'.repeat(columns.length)}|\n${rows.map(line).join('')}`
}
