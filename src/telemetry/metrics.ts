/**
 * Numbers for Prometheus: one registry a part, so that parts in one process do not mix. What there is to count stands in
 * `contract/metrics.ts`; all of it is told from the start. The library stays behind this file.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import {
  type Metric,
  type MetricComponent,
  type MetricLabels,
  type MetricName,
  type MetricType,
  metricCatalogue,
  processMetrics,
} from '../contract/metrics.ts'

/** Labels are named exactly where the metric has some. */
type Labelled<P extends MetricComponent, N> = keyof MetricLabels<P, N> extends never
  ? [labels?: Record<string, never>]
  : [labels: MetricLabels<P, N>]

export interface Exposition {
  text(): Promise<string>
  readonly contentType: string
}

export interface Metrics<P extends MetricComponent> extends Exposition {
  count<N extends MetricName<P, 'counter'>>(name: N, by: number, ...labels: Labelled<P, N>): void
  set<N extends MetricName<P, 'gauge'>>(name: N, value: number, ...labels: Labelled<P, N>): void
  /** Forgets what a gauge was set to, for some labels or for all: those whose things are gone are not told any more. */
  forget<N extends MetricName<P, 'gauge'>>(name: N, labels?: MetricLabels<P, N>): void
  /** Observes a time in seconds. */
  time<N extends MetricName<P, 'histogram'>>(name: N, seconds: number, ...labels: Labelled<P, N>): void
}

export function createMetrics<P extends MetricComponent>(part: P, options: { process?: boolean } = {}): Metrics<P> {
  const register = new Registry()
  if (options.process) tellOfProcess(register)
  const made = <T>(type: MetricType, make: (given: Given) => T): Map<string, T> => {
    const all: [string, Metric][] = Object.entries(metricCatalogue[part])
    const some = all.filter(([, metric]) => metric.type === type)
    return new Map(
      some.map(([name, { help, labels }]) => [
        name,
        make({ name, help, labelNames: Object.keys(labels), registers: [register] }),
      ]),
    )
  }
  const counters = made('counter', given => new Counter(given))
  const gauges = made('gauge', given => new Gauge(given))
  const histograms = made('histogram', given => new Histogram({ ...given, buckets: timeBuckets }))

  return {
    count: (name, by, labels = {}) => counters.get(name)?.inc(labels, by),
    set: (name, value, labels = {}) => gauges.get(name)?.set(labels, value),
    forget(name, labels) {
      if (labels) gauges.get(name)?.remove(labels)
      else gauges.get(name)?.reset()
    },
    time: (name, seconds, labels = {}) => histograms.get(name)?.observe(labels, seconds),
    text: () => register.metrics(),
    contentType: register.contentType,
  }
}

/** Seconds: from a look at a cache to a node that takes its time. */
const timeBuckets = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

interface Given {
  name: string
  help: string
  labelNames: string[]
  registers: Registry[]
}

/** What the catalogue does not have is left out: among it gauges that are named like counters. */
function tellOfProcess(register: Registry): void {
  collectDefaultMetrics({ register })
  for (const { name } of register.getMetricsAsArray())
    if (!Object.hasOwn(processMetrics, name)) register.removeSingleMetric(name)
}
