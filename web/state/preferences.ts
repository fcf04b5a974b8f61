/**
 * What the reader chose to keep: theme and language. Without a choice both follow the browser.
 */
import type { Language } from '../ui/format.ts'

export type Theme = 'light' | 'dark' | 'system'

export interface Preferences {
  theme: Theme
  language: Language
}

const name = 'multinic.preferences'

export function preferences(): Preferences {
  const kept = parsed(localStorage.getItem(name))
  const { theme } = kept
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    language: kept.language === 'ko' || kept.language === 'en' ? kept.language : ownLanguage(),
  }
}

export function keepPreferences(chosen: Preferences): void {
  localStorage.setItem(name, JSON.stringify(chosen))
  applyPreferences(chosen)
}

export function applyPreferences({ theme, language }: Preferences): void {
  const root = document.documentElement
  root.lang = language
  if (theme === 'system') delete root.dataset['theme']
  else root.dataset['theme'] = theme
}

function ownLanguage(): Language {
  return navigator.language.toLowerCase().startsWith('ko') ? 'ko' : 'en'
}

function parsed(text: string | null): Partial<Preferences> {
  try {
    return text ? (JSON.parse(text) as Partial<Preferences>) : {}
  } catch {
    return {}
  }
}

/** The key that makes shortcuts, as this keyboard names it. */
export const commandKey = typeof navigator !== 'undefined' && /Mac|iP/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
