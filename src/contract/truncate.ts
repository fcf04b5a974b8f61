/**
 * Makes texts of other services fit to be stored and shown.
 */

/** Truncated, and without characters that move the cursor or change the order of what is shown. */
export function truncate(text: string, maxLength: number): string {
  // First cut to a bounded length: an escape is longer than its character.
  const shown = visible(text.slice(0, maxLength))
  if (text.length <= maxLength && shown.length <= maxLength) return shown
  // Half a character is neither shown nor stored.
  return `${shown.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** A name that another service gave, on one line and fit to be shown. */
export function shownName(name: string): string {
  if (name.length <= maxName && !needsWork.test(name)) return name
  return truncate(name.replace(/\s+/g, ' ').trim(), maxName)
}

const maxName = 255
/** Thousands of ports have the names of few networks, and nearly all names are fit as they are. */
const needsWork = /^\s|\s$|\s\s|[^\S ]|[\p{Cc}\p{Cf}\p{Cs}]/u

/** Writes control characters (except line ends and tabs), marks of the writing direction and other invisible ones as escapes. */
export function visible(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escaped)
}

export function escaped(character: string): string {
  return character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
