/**
 * Common parts of the generated reference pages: they exist in English and Korean, and both have the same tables.
 */
import { type Language, languages } from '../src/contract/reasons/catalogue.ts'

export type { Language }

const endings: Record<Language, string> = { en: '.md', ko: '.ko.md' }

/** File name of a page in a language: `settings.md`, `settings.ko.md`. */
export const pageName = (name: string, language: Language) => `${name}${endings[language]}`

/** Both languages of a page, by path. */
export function referencePages(name: string, page: (language: Language) => string): [path: string, text: string][] {
  return languages.map(language => [`docs/reference/${pageName(name, language)}`, page(language)])
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
