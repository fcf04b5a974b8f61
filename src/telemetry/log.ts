/**
 * One line of JSON a fact: a constant message, and what it is about as keys.
 *
 * error: a person should look. warn: it heals itself, but tells of trouble. info: a change was made or decided.
 * debug: everything else. Secrets never become a key (G9): callers hand over names, never values.
 */
export type Level = 'debug' | 'info' | 'warn' | 'error'
export type Facts = Record<string, unknown>

export interface Log {
  debug(message: string, facts?: Facts): void
  info(message: string, facts?: Facts): void
  warn(message: string, facts?: Facts): void
  error(message: string, facts?: Facts): void
  /** The same log with some facts on every line. */
  with(facts: Facts): Log
}

export interface LogOptions {
  level?: Level
  now?: () => Date
  write?: (line: string) => void
}

const weight: Record<Level, number> = { debug: 10, info: 20, warn: 30, error: 40 }

export function createLog(facts: Facts = {}, options: LogOptions = {}): Log {
  const { level = 'info', now = () => new Date(), write = line => process.stderr.write(line) } = options
  const say =
    (at: Level) =>
    (message: string, more: Facts = {}) => {
      if (weight[at] < weight[level]) return
      write(`${JSON.stringify({ time: now().toISOString(), level: at, message, ...facts, ...more }, plain)}\n`)
    }
  return {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    with: more => createLog({ ...facts, ...more }, options),
  }
}

/** For tests and libraries that must not talk. */
export const silent: Log = createLog({}, { write: () => {} })

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.message
  if (typeof value === 'bigint') return value.toString()
  return value
}
