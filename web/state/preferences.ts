/**
 * Theme and language. Without a saved choice, both follow the browser.
 */
import type { Language } from '../messages/messages.ts'

export type Theme = 'light' | 'dark' | 'system'

export interface Preferences {
  theme: Theme
  language: Language
}

const storageKey = 'multinic.preferences'

export function preferences(): Preferences {
  const saved = parse(localStorage.getItem(storageKey))
  const { theme } = saved
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    language: saved.language === 'ko' || saved.language === 'en' ? saved.language : browserLanguage(),
  }
}

export function savePreferences(chosen: Preferences): void {
  localStorage.setItem(storageKey, JSON.stringify(chosen))
  applyPreferences(chosen)
}

export function applyPreferences({ theme, language }: Preferences): void {
  const root = document.documentElement
  root.lang = language
  if (theme === 'system') delete root.dataset['theme']
  else root.dataset['theme'] = theme
}

function browserLanguage(): Language {
  return navigator.language.toLowerCase().startsWith('ko') ? 'ko' : 'en'
}

function parse(text: string | null): Partial<Preferences> {
  try {
    return text ? (JSON.parse(text) as Partial<Preferences>) : {}
  } catch {
    return {}
  }
}

/** The modifier key of shortcuts on this platform. */
export const commandKey = typeof navigator !== 'undefined' && /Mac|iP/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
