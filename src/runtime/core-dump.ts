/**
 * What a crash leaves behind: a core dump of a part would hold every password and token that it knows.
 */
import { writeFileSync } from 'node:fs'

/** No part of the memory of this process goes into a core dump. Node cannot set limits; the kernel takes this one. */
export function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // No Linux, or no /proc: whoever runs the part there sets the limit.
  }
}
