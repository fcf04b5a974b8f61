/**
 * Growth of counters between two samples. A restarted process counts from 0 again.
 */
export interface Rates {
  /** Growth of a counter since its last call. 0 for a counter that is new. */
  growth(name: string, value: number): number
  /** Since the last call. */
  seconds(): number
}

export function createRates(now: () => number = () => performance.now()): Rates {
  const last = new Map<string, number>()
  let at = now()
  return {
    growth(name, value) {
      const before = last.get(name)
      last.set(name, value)
      if (before === undefined) return 0
      return value >= before ? value - before : value
    },
    seconds() {
      const passed = (now() - at) / 1_000
      at = now()
      return Math.max(passed, 0.001)
    },
  }
}
