/**
 * Splits a list into requests with a limited number of items and bytes.
 */
export interface BatchLimits<T> {
  items: number
  bytes: number
  /** Bytes that one item adds to a request. */
  costOf: (item: T) => number
}

/** Keeps the order. An item above the limit gets its own batch. */
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
