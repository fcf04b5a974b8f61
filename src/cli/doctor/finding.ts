/**
 * A finding of `multinic doctor`, and texts that several checks share. Pure.
 */
export interface Finding {
  level: 'ok' | 'warn' | 'bad'
  what: string
  /** What to do about it. */
  remedy?: string
}

export function ok(what: string): Finding {
  return { level: 'ok', what }
}

export function unreadable(what: string): Finding {
  return { level: 'warn', what: `cannot list ${what}`, remedy: 'use an account that may list them' }
}

export function some(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}
