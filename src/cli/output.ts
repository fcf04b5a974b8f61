/**
 * Prints a result in the requested format: text for users, or data for programs.
 */
import { csvText } from '../contract/csv.ts'
import { parseDuration } from '../contract/duration.ts'
import type { Language } from '../contract/reasons/catalogue.ts'
import { CliError, type Io } from './io.ts'
import type { Messages } from './messages/en.ts'
import { messagesIn } from './messages/messages.ts'
import { type Paint, paintFor } from './render/paint.ts'
import { wrapped } from './render/wrap.ts'

export type Format = 'wide' | 'json' | 'yaml' | 'csv'

/** How text is rendered. */
export interface RenderOptions {
  paint: Paint
  wide: boolean
  now: Date
  language: Language
  texts: Messages
  /** Width that tables fit. Without it, or 0, a line may have any length. */
  columns?: number | undefined
}

export interface Printable {
  data: unknown
  lines: (options: RenderOptions) => readonly string[]
  /** Column names first. */
  rows?: (texts: Messages) => readonly (readonly (string | undefined)[])[]
}

export async function print(io: Io, format: Format | undefined, { data, lines, rows }: Printable): Promise<void> {
  if (format === 'json') return io.out(`${JSON.stringify(data, null, 2)}\n`)
  if (format === 'yaml') {
    const { stringify } = await import('yaml')
    return io.out(stringify(data, { aliasDuplicateObjects: false, lineWidth: 0 }))
  }
  const { language, columns } = io
  const texts = messagesIn(language)
  if (format === 'csv') return io.out(csvText(rows?.(texts) ?? []))
  const options = {
    paint: paintFor(io.terminal, io.env),
    wide: format === 'wide',
    now: io.now(),
    language,
    texts,
    ...(format !== 'wide' && { columns }),
  }
  io.out(
    lines(options)
      .flatMap(line => (columns === undefined ? [line] : wrapped(line, columns)))
      .map(line => `${line}\n`)
      .join(''),
  )
}

const timeFormats = 'use an RFC 3339 time such as 2026-01-31T10:00:00Z, or a duration such as 90m for 90 minutes ago'

/** Turns a time or a duration into an RFC 3339 time. */
export function timeFrom(text: string | undefined, now: Date, option = '--at'): string | undefined {
  if (text === undefined) return undefined
  const ago = parseDuration(text)
  if (ago !== undefined) return new Date(now.getTime() - ago).toISOString()
  const time = /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/i.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new CliError(`${option}: "${text}" is not a time; ${timeFormats}`)
  return new Date(time).toISOString()
}
