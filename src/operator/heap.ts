/**
 * Keeps the memory of the operator's process near what it really holds (docs/decisions/0015-small-heap.md).
 *
 * A sync of a thousand nodes makes garbage by the megabyte and leaves little behind. Left to itself, V8 lets the nursery
 * grow to 48 MiB and the rest to four times what is alive before it looks.
 */
import { setFlagsFromString } from 'node:v8'

/** They are read by V8 whenever it decides, so they count from this moment on. */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=20')
  // Marking bit by bit lets a sync go on making garbage meanwhile: ten to twenty megabytes, for pauses of some 30 ms less.
  setFlagsFromString('--no-incremental-marking')
}
