/**
 * Cuts a long list into requests that are neither too many items nor too many bytes.
 */
export interface BatchLimits<T> {
  items: number
  bytes: number
  /** What one item adds to a request. */
  costOf: (item: T) => number
}

/** In order; an item that is too big by itself is a batch of its own. */
export function batchesOf<T>(all: readonly T[], { items, bytes, costOf }: BatchLimits<T>): T[][] {
  const batches: T[][] = []
  let batch: T[] = []
  let size = 0
  for (const item of all) {
    const cost = costOf(item)
    if (batch.length > 0 && (batch.length >= items || size + cost > bytes)) {
      batches.push(batch)
      batch = []
      size = 0
    }
    batch.push(item)
    size += cost
  }
  return batch.length > 0 ? [...batches, batch] : batches
}
