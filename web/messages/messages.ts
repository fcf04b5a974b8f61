/**
 * The words of the dashboard in the language that was chosen. What the API says (reasons, messages, remedies) stays as it is.
 */
import type { Language } from '../ui/format.ts'
import { en } from './en.ts'
import { ko } from './ko.ts'

export type Word = keyof typeof en
export type Say = (word: Word, values?: Record<string, string | number>) => string

export const languages: Record<Language, Record<Word, string>> = { en, ko }

/** `{n}` is filled in; `{n|node|nodes}` takes the first for one and the second for others. */
export function sayIn(language: Language): Say {
  const words = languages[language]
  return (word, values = {}) =>
    words[word].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) =>
      one === undefined ? String(values[name] ?? '') : String((Number(values[name]) === 1 ? one : many) ?? ''),
    )
}
