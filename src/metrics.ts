/**
 * Numbers for Prometheus: one registry a part, so that parts in one process do not mix. The library stays behind this file.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  /** Adds to a counter. Label names are fixed by the first use. */
  count(name: string, help: string, labels?: Record<string, string>, by?: number): void
  /** Sets a gauge. */
  set(name: string, help: string, value: number, labels?: Record<string, string>): void
  /** Forgets what a gauge was set to: those whose things are gone are not told any more. */
  forget(name: string): void
  /** Observes a time in seconds. */
  time(name: string, help: string, seconds: number, labels?: Record<string, string>): void
  text(): Promise<string>
  readonly contentType: string
}

export function createMetrics(options: { process?: boolean } = {}): Metrics {
  const register = new Registry()
  if (options.process) collectDefaultMetrics({ register })
  const counters = new Map<string, Counter>()
  const gauges = new Map<string, Gauge>()
  const histograms = new Map<string, Histogram>()

  return {
    count(name, help, labels = {}, by = 1) {
      const counter = once(
        counters,
        name,
        () => new Counter({ name, help, labelNames: Object.keys(labels), registers: [register] }),
      )
      counter.inc(labels, by)
    },
    set(name, help, value, labels = {}) {
      const gauge = once(
        gauges,
        name,
        () => new Gauge({ name, help, labelNames: Object.keys(labels), registers: [register] }),
      )
      gauge.set(labels, value)
    },
    forget: name => gauges.get(name)?.reset(),
    time(name, help, seconds, labels = {}) {
      const histogram = once(
        histograms,
        name,
        () =>
          new Histogram({ name, help, labelNames: Object.keys(labels), registers: [register], buckets: timeBuckets }),
      )
      histogram.observe(labels, seconds)
    },
    text: () => register.metrics(),
    contentType: register.contentType,
  }
}

/** Seconds: from a look at a cache to a node that takes its time. */
const timeBuckets = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

function once<T>(made: Map<string, T>, name: string, make: () => T): T {
  const known = made.get(name) ?? make()
  made.set(name, known)
  return known
}
