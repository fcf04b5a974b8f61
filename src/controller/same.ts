/**
 * Whether two documents say the same. Pure, and without writing them out: it is asked at every event.
 */

/** As JSON, where a key without a value is no key. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b || (a ?? null) === (b ?? null)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const same = (key: string) => isSame(one[key], other[key])
  return Object.keys(one).every(same) && Object.keys(other).every(key => key in one || same(key))
}
