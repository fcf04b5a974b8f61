/**
 * How many interfaces of each object were taken away a moment ago because their ports vanished.
 *
 * Nova deletes the ports of a server one by one: an operator that looks in between sees one go, and another, and each is
 * few. An operator that starts anew begins at none.
 */
export interface Vanished {
  add(source: string, count: number): void
  lately(source: string): number
  forget(source: string): void
}

/** Ports that go within so long go at once. */
const atOnceMs = 30_000

export function createVanished(now: () => Date): Vanished {
  const removals = new Map<string, { at: number; count: number }[]>()
  const recent = (source: string) => (removals.get(source) ?? []).filter(({ at }) => now().getTime() - at < atOnceMs)
  return {
    add(source, count) {
      if (count > 0) removals.set(source, [...recent(source), { at: now().getTime(), count }])
    },
    lately: source => recent(source).reduce((sum, { count }) => sum + count, 0),
    forget: source => void removals.delete(source),
  }
}
