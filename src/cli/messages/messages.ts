/**
 * The language of the CLI: `--lang`, else the locale of the environment, else English.
 */
import type { Language } from '../../contract/reasons/catalogue.ts'
import type { Environment } from '../../runtime/env.ts'
import { en, type Messages } from './en.ts'
import { ko } from './ko.ts'

const texts: Record<Language, Messages> = { en, ko }
export const languages = Object.keys(texts)

export function messagesIn(language: Language): Messages {
  return texts[language]
}

/** Read from the raw arguments, because the help texts are built before they are parsed. */
export function languageOf(args: readonly string[], env: Environment): Language {
  const at = args.findIndex(arg => arg === '--lang' || arg.startsWith('--lang='))
  const flag = at < 0 ? undefined : args[at] === '--lang' ? args[at + 1] : args[at]?.slice('--lang='.length)
  const locale = flag ?? (env['LC_ALL'] || env['LC_MESSAGES'] || env['LANG'] || '')
  return /^ko([_.-]|$)/i.test(locale) ? 'ko' : 'en'
}
