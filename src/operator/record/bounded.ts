/**
 * A map that drops its oldest entries: stage times and names of ports that nobody has any more. The inventory stores them.
 */
const maxEntries = 100_000

export function setBounded<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= maxEntries) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
