/**
 * Prometheus metrics: one registry per component, so that components in one process do not mix. The metrics are those of
 * `contract/metrics.ts`, all exposed from the start. Only this file imports the client library.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks'
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

/** Labels are required exactly if the metric has some. */
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
  /** Removes the value of a gauge for these labels, or for all, once the object is gone. */
  forget<N extends MetricName<P, 'gauge'>>(name: N, labels?: MetricLabels<P, N>): void
  /** Observes a time in seconds. */
  time<N extends MetricName<P, 'histogram'>>(name: N, seconds: number, ...labels: Labelled<P, N>): void
}

export function createMetrics<P extends MetricComponent>(
  component: P,
  options: { process?: boolean } = {},
): Metrics<P> {
  const register = new Registry()
  if (options.process) addProcessMetrics(register)
  const create = <T>(type: MetricType, construct: (options: MetricOptions) => T): Map<string, T> => {
    const all: [string, Metric][] = Object.entries(metricCatalogue[component])
    const ofType = all.filter(([, metric]) => metric.type === type)
    return new Map(
      ofType.map(([name, { help, labels }]) => [
        name,
        construct({ name, help, labelNames: Object.keys(labels), registers: [register] }),
      ]),
    )
  }
  const counters = create('counter', options => new Counter(options))
  const gauges = create('gauge', options => new Gauge(options))
  const histograms = create('histogram', options => new Histogram({ ...options, buckets: timeBuckets }))

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

/** Seconds: from a cache lookup to a slow node. */
const timeBuckets = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

interface MetricOptions {
  name: string
  help: string
  labelNames: string[]
  registers: Registry[]
}

/** Removes default metrics that the catalogue lacks, such as gauges with the name of a counter. */
function addProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register })
  for (const { name } of register.getMetricsAsArray())
    if (!Object.hasOwn(processMetrics, name)) register.removeSingleMetric(name)
  addCollections(register)
}

const collectionsName = 'nodejs_gc_duration_seconds'
const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** The library counts only the first of the collections that Node reports together. */
function addCollections(register: Registry): void {
  register.removeSingleMetric(collectionsName)
  const help = processMetrics[collectionsName]?.help ?? ''
  const buckets = [0.001, 0.01, 0.1, 1, 2, 5]
  const times = new Histogram({ name: collectionsName, help, labelNames: ['kind'], buckets, registers: [register] })
  const observer = new PerformanceObserver(list => {
    for (const { detail, duration } of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[])
      times.observe({ kind: collectionKinds.get(detail.kind) ?? 'other' }, duration / 1_000)
  })
  observer.observe({ entryTypes: ['gc'] })
}
