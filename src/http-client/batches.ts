/**
 * Splits a list into requests with a limited number of items and bytes.
 */
export interface BatchLimits<T> {
  items: number
  bytes: number
  /** Bytes that one item adds to a request. */
  costOf: (item: T) => number
}

/** Made one by one, and keeps the order. An item above the limit gets its own batch. */
export function* batchesOf<T>(all: Iterable<T>, { items, bytes, costOf }: BatchLimits<T>): Generator<T[]> {
  let batch: T[] = []
  let size = 0
  for (const item of all) {
    const cost = costOf(item)
    if (batch.length > 0 && (batch.length >= items || size + cost > bytes)) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(item)
    size += cost
  }
  if (batch.length > 0) yield batch
}
