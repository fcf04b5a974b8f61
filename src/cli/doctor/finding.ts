/**
 * A finding of `multinic doctor`, and texts that several checks share. Pure.
 */
export interface Finding {
  level: 'ok' | 'warn' | 'bad'
  what: string
  /** What to do about it. */
  remedy?: string
}

export const ok = finding('ok')
export const warn = finding('warn')
export const bad = finding('bad')

function finding(level: Finding['level']) {
  return (what: string, remedy?: string): Finding => ({ level, what, ...(remedy !== undefined && { remedy }) })
}

export function unreadable(what: string): Finding {
  return warn(`cannot list ${what}`, 'use an account that may list them')
}

export function some(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}
