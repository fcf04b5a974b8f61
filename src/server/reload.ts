/**
 * A file of settings that may change while we run: read again when it does; a broken new one leaves the old in force.
 *
 * Looked at by `stat` rather than watched: Kubernetes swaps mounted files by symlink, which file watches miss.
 */
import { readFile, stat } from 'node:fs/promises'
import { explain, messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'

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
  let mark: string | undefined
  let text: string
  let value: T
  let problem: string | undefined
  let looking: Promise<void> | undefined
  let following: Promise<void> | undefined

  async function look(): Promise<void> {
    try {
      const seen = await markOf(path)
      if (seen !== undefined && seen === mark) return
      mark = seen
      const content = await contentOf(path)
      if (content === text && problem === undefined) return
      value = await parse(content)
      text = content
      problem = undefined
      log.info('file read again', { path })
      onChange?.(value)
    } catch (error) {
      const found = `${path}: ${messageOf(error)}; the content before it stays in force`
      if (found !== problem) log.error('file cannot be used', { path, error })
      problem = found
      mark = undefined
    }
  }

  try {
    mark = await markOf(path)
    text = await contentOf(path)
    value = await parse(text)
  } catch (error) {
    throw explain(path, error)
  }
  const timer = setInterval(() => void refresh(), everyMs)
  timer.unref()

  /** A look that is under way may have missed what the caller knows of: another one follows it, one for all who wait. */
  function refresh(): Promise<void> {
    if (looking) {
      following ??= looking.then(() => {
        following = undefined
        return refresh()
      })
      return following
    }
    looking = look().finally(() => {
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

/** Undefined for a file so fresh that another write might leave it with the same time and size. */
async function markOf(path: string): Promise<string | undefined> {
  const { ino, mtimeMs, size } = await stat(path)
  return Date.now() - mtimeMs < 100 ? undefined : `${ino}:${mtimeMs}:${size}`
}

/** An empty file is one that somebody is just writing, or lost: never the wish to forget everything. */
async function contentOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  if (text.trim() === '') throw new Error('is empty')
  return text
}
