/**
 * Shifts the clocks of our components: each component reads the offset of its clock from its own file.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Clocks {
  /** Environment of a component. The default name is that of its command. */
  env(name?: string): { NODE_OPTIONS: string }
  /** Shifts the clock of a component for some time. */
  set(name: string, offsetMs: number, forMs: number): void
  /** Resets all clocks. */
  reset(): void
}

export function clocksIn(dir: string): Clocks {
  const timers = new Map<string, NodeJS.Timeout>()

  function write(name: string, offsetMs: number): void {
    // Atomic: the component reads it at any time.
    writeFileSync(join(dir, `${name}.new`), String(offsetMs))
    renameSync(join(dir, `${name}.new`), join(dir, name))
  }

  function resetClock(name: string): void {
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
    set(name, offsetMs, forMs) {
      clearTimeout(timers.get(name))
      write(name, offsetMs)
      timers.set(name, setTimeout(resetClock, forMs, name))
    },
    reset() {
      for (const name of [...timers.keys()]) resetClock(name)
    },
  }
}
