/**
 * Keeps the heap of a component small (docs/decisions/0015-small-heap.md).
 *
 * A sync of a thousand nodes allocates megabytes and keeps little. By default, V8 lets the young generation grow to 48 MiB
 * and the old generation to four times the live data before it collects.
 */
import { constants, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 reads these flags at each decision, so they apply immediately. */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  allowGrowth(minGrowthPercent)
  // Incremental marking saves pauses of 30 ms, but a sync allocates 10 to 20 MiB meanwhile.
  setFlagsFromString('--no-incremental-marking')
  collectLargeHeapsLess()
  returnMemoryInPauses()
}

const minGrowthPercent = 20

function allowGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/** The longer a collection takes, the fewer there should be. A large heap grows by 30 MiB before the next one. */
function collectLargeHeapsLess(): void {
  onCollection(kind => {
    if (kind === 'major') allowGrowth(growthPercent(bytesInHeap()))
  })
}

const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** Calls back after every collection, also of several that Node reports together. */
export function onCollection(callback: (kind: string, seconds: number) => void): void {
  const observer = new PerformanceObserver(list => {
    for (const { detail, duration } of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[])
      callback(collectionKinds.get(detail.kind) ?? 'other', duration / 1_000)
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** `process.memoryUsage` would also read the memory of the process from /proc, at every collection. */
function bytesInHeap(): number {
  return getHeapStatistics().used_heap_size
}

const mebibyte = 2 ** 20
/** Above what a sync of 1,000 VMs keeps. */
const largeHeap = 45 * mebibyte
const largeGrowth = 30 * mebibyte

/** How much a heap with this much data may grow before it is collected. */
export function growthPercent(usedBytes: number): number {
  if (usedBytes < largeHeap) return minGrowthPercent
  return Math.max(minGrowthPercent, Math.min(50, Math.round((100 * largeGrowth) / usedBytes)))
}

/**
 * V8 lets every heap grow by 8 MiB and more, and keeps the pages until the process rests. This collects a heap below `largeHeap`
 * after half of that. A heap below `fromMiB` is not collected: it is known that the work needs as much.
 */
export function collectInSmallSteps(fromMiB = 0): void {
  const collect = collector()
  let keptBytes = bytesInHeap()
  onCollection(kind => {
    const heapUsed = bytesInHeap()
    const isDue = heapUsed < largeHeap && heapUsed > Math.max(keptBytes + smallStep, fromMiB * mebibyte)
    if (isDue) collect({ type: 'major', execution: 'sync' })
    if (isDue || kind === 'major') keptBytes = bytesInHeap()
  })
}

const smallStep = 4 * mebibyte

/** Collects what loading the program left, a fifth of the heap: otherwise the first work waits for it. */
export function collectStartup(): void {
  collector()({ type: 'major', execution: 'sync' })
}

function collector(): (options: object) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/** At rest, the heap may grow by more than V8 allows before it is worth a collection: V8 collects what regular work leaves. */
const growthAtRest = 1.4

/** A component that was active for more than this share of the time is not held up. */
const maxActiveShare = 0.25

/** V8 returns memory in pauses by incremental marking, which is off: otherwise it keeps what its busiest moment needed. */
export function returnMemoryInPauses(everyMs = 5_000): void {
  const collect = collector()
  let before = performance.eventLoopUtilization()
  let keptBytes = 0
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    const heapUsed = bytesInHeap()
    // The last collection may have kept what a sync needed at that moment.
    keptBytes = Math.min(keptBytes, heapUsed)
    if (utilization > maxActiveShare || heapUsed < growthAtRest * keptBytes) return
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    keptBytes = bytesInHeap()
  }, everyMs)
  timer.unref()
}
