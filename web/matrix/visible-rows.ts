/**
 * Which rows of a long list are rendered: those in the viewport and some around it. Pure.
 */

/** Rows are rendered in blocks, so that the range changes seldom. */
const [extraRows, blockSize] = [6, 4]

export function visibleRange(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): { first: number; last: number } {
  const first = Math.floor(scrollTop / rowHeight / blockSize) * blockSize - extraRows
  const last = Math.ceil((scrollTop + height) / rowHeight / blockSize) * blockSize + extraRows
  return { first: Math.max(0, first), last: Math.min(count, last) }
}

/** The largest number of rows in a visible range. */
export function maxVisibleRows(rowHeight: number, height: number): number {
  return Math.ceil(height / rowHeight) + 2 * (extraRows + blockSize)
}
