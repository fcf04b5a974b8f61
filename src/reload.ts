/**
 * A file of settings that may change while we run: read again when it does; a broken new one leaves the old in force.
 *
 * Looked at by `stat` rather than watched: Kubernetes swaps mounted files by symlink, which file watches miss.
 */
import { readFile, stat } from 'node:fs/promises'
import { explain, messageOf } from './errors.ts'
import type { Log } from './log.ts'

export interface Reloaded<T> {
  /** The newest good content. */
  readonly value: T
  /** What is wrong with the file as it is now; undefined while `value` is what the file says. */
  readonly problem: string | undefined
  /** Looks at once. Never throws. */
  refresh(): Promise<void>
  close(): void
}

export interface ReloadOptions<T> {
  path: string
  /** Throws in words that do not show the content: it may hold secrets. */
  parse: (text: string) => T | Promise<T>
  log: Log
  everyMs?: number
  onChange?: (value: T) => void
}

/** Fails when the first content cannot be used: a part must not start on settings that nobody gave. */
export async function reload<T>(options: ReloadOptions<T>): Promise<Reloaded<T>> {
  const { path, parse, log, everyMs = 1_000, onChange } = options
  let mark = ''
  let value: T
  let problem: string | undefined
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    try {
      const { ino, mtimeMs, size } = await stat(path)
      const seen = `${ino}:${mtimeMs}:${size}`
      if (seen === mark) return
      mark = seen
      value = await parse(await readFile(path, 'utf8'))
      problem = undefined
      log.info('file read again', { path })
      onChange?.(value)
    } catch (error) {
      const found = `${path}: ${messageOf(error)}; the content before it stays in force`
      if (found !== problem) log.error('file cannot be used', { path, error })
      problem = found
    }
  }

  try {
    const { ino, mtimeMs, size } = await stat(path)
    mark = `${ino}:${mtimeMs}:${size}`
    value = await parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw explain(path, error)
  }
  const timer = setInterval(() => void refresh(), everyMs)
  timer.unref()

  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  return {
    get value() {
      return value
    },
    get problem() {
      return problem
    },
    refresh,
    close: () => clearInterval(timer),
  }
}
