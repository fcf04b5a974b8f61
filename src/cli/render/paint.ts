/**
 * Colours and symbols of states, and texts without terminal control sequences. Pure.
 */
export type Tone = 'good' | 'bad' | 'busy' | 'dim' | 'strong'
export type Paint = (tone: Tone, text: string) => string

export const plain: Paint = (_tone, text) => text

const codes: Record<Tone, number> = { good: 32, bad: 31, busy: 33, dim: 2, strong: 1 }

export const coloured: Paint = (tone, text) => (text === '' ? '' : `\u001b[${codes[tone]}m${text}\u001b[0m`)

/** Colours on a terminal, but not with NO_COLOR (https://no-color.org). FORCE_COLOR decides before both, as in Node. */
export function paintFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced === '0' || forced === 'false' ? plain : coloured
  return terminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? coloured : plain
}

const tones: Record<string, Tone> = { Configured: 'good', Failed: 'bad', InProgress: 'busy', Pending: 'busy' }
const symbols: Record<string, string> = { Configured: '●', Failed: '✗', InProgress: '◐', Pending: '○' }

export function toneOf(state: string | undefined): Tone {
  return tones[state ?? ''] ?? 'dim'
}

export function symbolOf(state: string | undefined): string {
  return symbols[state ?? ''] ?? '·'
}

/**
 * Replaces control characters except line ends and tabs, and invisible ones. A lone carriage return would overwrite its line,
 * and marks of the writing direction would show a line in another order.
 */
export function printable(text: string): string {
  return text.replace(/(?![\n\t\r])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|\r(?!\n)/gu, '\ufffd')
}
