/**
 * One answer in the form that was asked for: words for people, or data for programs.
 */
import { csvText } from '../contract/csv.ts'
import { parseDuration } from '../contract/duration.ts'
import { CliError, type Io } from './io.ts'
import { type Paint, paintFor } from './render/paint.ts'

export type Format = 'wide' | 'json' | 'yaml' | 'csv'

export interface Look {
  paint: Paint
  wide: boolean
  now: Date
}

export interface Printable {
  data: unknown
  lines: (look: Look) => readonly string[]
  /** Head first. */
  rows?: () => readonly (readonly (string | undefined)[])[]
}

export async function print(io: Io, format: Format | undefined, { data, lines, rows }: Printable): Promise<void> {
  if (format === 'json') return io.out(`${JSON.stringify(data, null, 2)}\n`)
  if (format === 'yaml') {
    const { stringify } = await import('yaml')
    return io.out(stringify(data, { aliasDuplicateObjects: false, lineWidth: 0 }))
  }
  if (format === 'csv') return io.out(csvText(rows?.() ?? []))
  const look = { paint: paintFor(io.terminal, io.env), wide: format === 'wide', now: io.now() }
  io.out(
    lines(look)
      .map(line => `${line}\n`)
      .join(''),
  )
}

const timeForms = 'write an RFC 3339 time such as 2026-01-31T10:00:00Z, or how long ago, such as 90m or 24h'

/** A time as people write it → RFC 3339. */
export function timeFrom(text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined
  const ago = parseDuration(text)
  if (ago !== undefined) return new Date(now.getTime() - ago).toISOString()
  const time = /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/i.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new CliError(`--at: "${text}" is no time; ${timeForms}`)
  return new Date(time).toISOString()
}
