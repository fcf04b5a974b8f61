/**
 * Since when each selected port of an object is not ready. A restarted operator, or a new leader, starts to count again.
 */
export interface UnreadyPorts {
  /** Replaces the ports of an object that are not ready. */
  update(config: string, portIds: readonly string[]): void
  /** Seconds since the first of them was not ready; 0 if all are. */
  oldestSeconds(config: string): number
  configs(): Iterable<string>
  forget(config: string): void
}

export function createUnreadyPorts(now: () => Date): UnreadyPorts {
  const since = new Map<string, Map<string, number>>()
  return {
    update(config, portIds) {
      const before = since.get(config)
      const at = now().getTime()
      since.set(config, new Map(portIds.map(id => [id, before?.get(id) ?? at])))
    },
    oldestSeconds(config) {
      const at = now().getTime()
      // Thousands of ports may wait: a spread would exceed the number of arguments.
      return [...(since.get(config)?.values() ?? [])].reduce((oldest, time) => Math.max(oldest, at - time), 0) / 1_000
    },
    configs: () => since.keys(),
    forget: config => void since.delete(config),
  }
}
