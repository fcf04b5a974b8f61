/**
 * A strict parser of the output of /metrics, and the check that it has exactly the metrics of the catalogue.
 */
import assert from 'node:assert/strict'
import { type Metric, type MetricComponent, metricCatalogue, processMetrics } from '../../src/contract/metrics.ts'

export interface Family {
  help: string
  type: string
  samples: Sample[]
}

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** Throws at the first line that violates the text format of Prometheus. */
export function parseExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line has no line break')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let current: { name: string; family: Family } | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/.exec(line)
    if (help) {
      const [, name = '', text = ''] = help
      assert.ok(!families.has(name), `${name} occurs twice`)
      current = { name, family: { help: text, type: '', samples: [] } }
      families.set(name, current.family)
    } else if (type) {
      assert.equal(type[1], current?.name, `TYPE does not follow its HELP: ${line}`)
      assert.equal(current?.family.type, '', `two TYPEs: ${line}`)
      if (current) current.family.type = type[2] ?? ''
    } else {
      assert.ok(current?.family.type, `a sample without a TYPE: ${line}`)
      const sample = parseSample(line)
      assert.ok(isOf(sample.name, current.name, current.family.type), `${sample.name} is in the family ${current.name}`)
      const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      assert.ok(!series.has(key), `duplicate series: ${line}`)
      series.add(key)
      current.family.samples.push(sample)
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family.samples)
  return families
}

function parseSample(line: string): Sample {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
  assert.ok(found, `not a sample: ${line}`)
  const [, name = '', inside = '', number = ''] = found
  const labels: Record<string, string> = {}
  let rest = inside
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/.exec(rest)
    assert.ok(label, `not a label: ${rest} in ${line}`)
    const [whole, key = '', value = ''] = label
    assert.ok(!Object.hasOwn(labels, key), `duplicate label ${key}: ${line}`)
    labels[key] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(whole.length)
  }
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : number === 'Nan' || number === 'NaN' ? 0 : Number(number)
  assert.ok(!Number.isNaN(value), `not a number: ${line}`)
  return { name, labels, value }
}

function isOf(sample: string, family: string, type: string): boolean {
  const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  return ends.some(end => sample === `${family}${end}`)
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest))
  for (const [series, all] of bySeries) {
    const buckets = all.filter(sample => sample.name === `${name}_bucket`)
    const [count] = all.filter(sample => sample.name === `${name}_count`)
    const limits = buckets.map(({ labels }) =>
      labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']),
    )
    assert.deepEqual(
      limits,
      limits.toSorted((a, b) => a - b),
      `${name} ${series}: buckets out of order`,
    )
    assert.equal(limits.at(-1), Number.POSITIVE_INFINITY, `${name} ${series}: no bucket +Inf`)
    const values = buckets.map(({ value }) => value)
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
      `${name} ${series}: bucket values decrease`,
    )
    assert.equal(values.at(-1), count?.value, `${name} ${series}: the last bucket differs from the count`)
  }
}

/** A component serves exactly its metrics of the catalogue: names, types, help texts, labels and their values. */
/** The first value of a metric that a server exposes now, whatever its labels. */
export async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1])
}

export function assertCatalogue(component: MetricComponent, text: string): void {
  const served = parseExposition(text)
  const expected: Record<string, Metric> = { ...metricCatalogue[component], ...processMetrics }
  assert.deepEqual([...served.keys()].sort(), Object.keys(expected).sort(), `metrics of ${component}`)
  for (const [name, { type, help, labels }] of Object.entries(expected)) {
    const family = served.get(name)
    assert.equal(family?.type, type, name)
    if (!Object.hasOwn(processMetrics, name)) assert.equal(family?.help, help, name)
    for (const sample of family?.samples ?? []) checkLabels(name, sample, labels)
  }
}

function checkLabels(name: string, { labels }: Sample, known: Metric['labels']): void {
  const { le: _, ...own } = labels
  // Before the first observation a histogram with labels has none.
  if (Object.keys(own).length > 0 || Object.keys(known).length === 0)
    assert.deepEqual(Object.keys(own).sort(), Object.keys(known).sort(), `labels of ${name}`)
  for (const [label, value] of Object.entries(own)) {
    const bound = known[label]
    if (Array.isArray(bound)) assert.ok(bound.includes(value), `${name}{${label}="${value}"} is not one of ${bound}`)
  }
}
