/**
 * A configuration file that is reloaded when it changes. If the new content is invalid, the old one stays in effect.
 *
 * Polls with `stat`: Kubernetes replaces mounted files by symlink, which file watches miss.
 */
import { readFile, stat } from 'node:fs/promises'
import { explain, messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'

export interface Reloaded<T> {
  /** The latest valid content. */
  readonly value: T
  /** Why the current content of the file is invalid. Undefined while `value` is current. */
  readonly problem: string | undefined
  /** Checks the file now. Never throws. */
  refresh(): Promise<void>
  close(): void
}

export interface ReloadOptions<T> {
  path: string
  /** Its errors must not quote the content, which may contain secrets. */
  parse: (text: string) => T | Promise<T>
  log: Log
  everyMs?: number
  onChange?: (value: T) => void
}

/** Fails if the initial content is invalid: a component must not start with settings that nobody chose. */
export async function reload<T>(options: ReloadOptions<T>): Promise<Reloaded<T>> {
  const { path, parse, log, everyMs = 1_000, onChange } = options
  let version: string | undefined
  let text: string
  let value: T
  let problem: string | undefined
  let checking: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function check(): Promise<void> {
    try {
      const current = await versionOf(path)
      if (current !== undefined && current === version) return
      version = current
      const content = await contentOf(path)
      if (content === text && problem === undefined) return
      value = await parse(content)
      text = content
      problem = undefined
      log.info('file reloaded', { path })
      onChange?.(value)
    } catch (error) {
      const found = `${path}: ${messageOf(error)}; the previous content stays in effect`
      if (found !== problem) log.error('cannot use file, keeping its previous content', { path, error })
      problem = found
      version = undefined
    }
  }

  try {
    version = await versionOf(path)
    text = await contentOf(path)
    value = await parse(text)
  } catch (error) {
    throw explain(path, error)
  }
  const timer = setInterval(() => void refresh(), everyMs)
  timer.unref()

  /** A check that is running may have missed the change the caller knows of, so all callers share one more check. */
  function refresh(): Promise<void> {
    if (checking) {
      next ??= checking.then(() => {
        next = undefined
        return refresh()
      })
      return next
    }
    checking = check().finally(() => {
      checking = undefined
    })
    return checking
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

/** Undefined for a file written just now: the next write could leave it with the same time and size. */
async function versionOf(path: string): Promise<string | undefined> {
  const { ino, mtimeMs, size } = await stat(path)
  return Date.now() - mtimeMs < 100 ? undefined : `${ino}:${mtimeMs}:${size}`
}

/** An empty file is being written or was truncated. It never means empty settings. */
async function contentOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  if (text.trim() === '') throw new Error('is empty')
  return text
}
