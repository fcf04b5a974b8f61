/**
 * Clocks of our parts that can be set: each part is started with one, and reads a file of its own that says how far it is off.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Clocks {
  /** With which a part is started; the name is that of its command unless another one is given. */
  env(name?: string): { NODE_OPTIONS: string }
  /** The clock of a part jumps, and back after that time. */
  set(name: string, offMs: number, forMs: number): void
  /** All of them, at once. */
  putRight(): void
}

export function clocksIn(dir: string): Clocks {
  const timers = new Map<string, NodeJS.Timeout>()

  function write(name: string, offMs: number): void {
    // Whole or not at all: it is read at any time.
    writeFileSync(join(dir, `${name}.new`), String(offMs))
    renameSync(join(dir, `${name}.new`), join(dir, name))
  }

  function right(name: string): void {
    clearTimeout(timers.get(name))
    timers.delete(name)
    write(name, 0)
  }

  return {
    env(name) {
      const preloaded = pathToFileURL(join(import.meta.dirname, 'shifted-clock.ts'))
      preloaded.searchParams.set('dir', dir)
      if (name !== undefined) preloaded.searchParams.set('name', name)
      return { NODE_OPTIONS: `--import=${preloaded}` }
    },
    set(name, offMs, forMs) {
      clearTimeout(timers.get(name))
      write(name, offMs)
      timers.set(name, setTimeout(right, forMs, name))
    },
    putRight() {
      for (const name of [...timers.keys()]) right(name)
    },
  }
}
