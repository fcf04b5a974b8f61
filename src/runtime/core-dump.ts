/**
 * Core dumps: a dump of a component would contain every password and token in its memory.
 */
import { writeFileSync } from 'node:fs'

/** Excludes all memory of this process from core dumps. Node cannot set rlimits; this file works without one. */
export function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // Not Linux, or no /proc: set the limit where the component is started.
  }
}
