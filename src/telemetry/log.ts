/**
 * One JSON line per event: a constant message, and its details as keys.
 *
 * error: needs attention. warn: a problem that is retried. info: a change was made or decided. debug: everything else.
 * Secrets are never logged (G9): callers pass names, never values.
 */
import { escaped } from '../contract/truncate.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
export type Facts = Record<string, unknown>

export interface Log {
  debug(message: string, facts?: Facts): void
  info(message: string, facts?: Facts): void
  warn(message: string, facts?: Facts): void
  error(message: string, facts?: Facts): void
  /** A log that adds these keys to every line. */
  with(facts: Facts): Log
}

export interface LogOptions {
  level?: Level
  now?: () => Date
  write?: (line: string) => void
}

/** What JSON does not escape, and what changes how a terminal shows a line. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const weight: Record<Level, number> = { debug: 10, info: 20, warn: 30, error: 40 }

export function createLog(facts: Facts = {}, options: LogOptions = {}): Log {
  const { level = 'info', now = () => new Date(), write = line => process.stderr.write(line) } = options
  const logAt =
    (at: Level) =>
    (message: string, more: Facts = {}) => {
      if (weight[at] < weight[level]) return
      const line = JSON.stringify({ time: now().toISOString(), level: at, message, ...facts, ...more }, plain)
      write(`${line.replace(invisible, escaped)}\n`)
    }
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    with: more => createLog({ ...facts, ...more }, options),
  }
}

/** For tests and for libraries that must not log. */
export const silent: Log = createLog({}, { write: () => {} })

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.message
  if (typeof value === 'bigint') return value.toString()
  return value
}
