/**
 * The texts of the dashboard in the chosen language. Messages from the API are shown as they are.
 */
import type { Language } from '../../src/contract/reasons/reason.ts'
import { en, type MessageKey } from './en.ts'
import { ko } from './ko.ts'

export type { Language } from '../../src/contract/reasons/reason.ts'
export type { MessageKey } from './en.ts'
export type Translate = (key: MessageKey, values?: Record<string, string | number>) => string

export const languages: Record<Language, Record<MessageKey, string>> = { en, ko }

/** Replaces `{n}` with its value, and `{n|node|nodes}` with the first form for 1 and the second otherwise. */
export function translator(language: Language): Translate {
  const messages = languages[language]
  return (key, values = {}) =>
    messages[key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) =>
      one === undefined ? String(values[name] ?? '') : String((Number(values[name]) === 1 ? one : many) ?? ''),
    )
}

export function isMessageKey(key: string): key is MessageKey {
  return Object.hasOwn(en, key)
}
