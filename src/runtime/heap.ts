/**
 * Keeps the heap of a component small (docs/decisions/0015-small-heap.md).
 *
 * A sync of a thousand nodes allocates megabytes and keeps little. By default, V8 lets the young generation grow to 48 MiB
 * and the old generation to four times the live data before it collects.
 */
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 reads these flags at each decision, so they apply immediately. */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=20')
  // Incremental marking saves pauses of 30 ms, but a sync allocates 10 to 20 MiB meanwhile.
  setFlagsFromString('--no-incremental-marking')
  returnMemoryInPauses()
}

/** As above: the heap may grow by as much before it is worth a collection. */
const growth = 1.2

/** A component that was active for more than this share of the time is not held up. */
const maxActiveShare = 0.25

/** Checks between two collections, after a busy time and at rest. A collection takes about 100 ms, with a large fleet more. */
const [checksAfterWork, checksAtRest] = [5, 30]

/** Since the last collection. */
export interface SinceCollection {
  keptBytes: number
  checks: number
  wasBusy: boolean
}

/** Counts one check. Returns whether a collection is due: when a busy time is over, and after many checks. */
export function countCheck(since: SinceCollection, activeShare: number, heapBytes: number): boolean {
  // The collection may have kept what a sync needed at that moment.
  since.keptBytes = Math.min(since.keptBytes, heapBytes)
  since.checks++
  const isBusy = activeShare > maxActiveShare
  since.wasBusy ||= isBusy
  if (isBusy || since.checks < (since.wasBusy ? checksAfterWork : checksAtRest)) return false
  return heapBytes >= growth * since.keptBytes
}

/** V8 returns memory in pauses by incremental marking, which is off: otherwise it keeps what its busiest moment needed. */
export function returnMemoryInPauses(everyMs = 2_000): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  const heapBytes = () => process.memoryUsage().heapUsed
  let before = performance.eventLoopUtilization()
  // The start of the process counts as a busy time with a collection long ago.
  let since: SinceCollection = { keptBytes: 0, checks: checksAfterWork, wasBusy: true }
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    if (!countCheck(since, utilization, heapBytes())) return
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    since = { keptBytes: heapBytes(), checks: 0, wasBusy: false }
  }, everyMs)
  timer.unref()
}
