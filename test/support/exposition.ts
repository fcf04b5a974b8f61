/**
 * A strict reader of what /metrics answers, and what it must be: the catalogue, nothing less and nothing else.
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

/** Throws at the first line that the text format of Prometheus does not allow. */
export function parseExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line does not end')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let current: { name: string; family: Family } | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/.exec(line)
    if (help) {
      const [, name = '', words = ''] = help
      assert.ok(!families.has(name), `${name} is told twice`)
      current = { name, family: { help: words, type: '', samples: [] } }
      families.set(name, current.family)
    } else if (type) {
      assert.equal(type[1], current?.name, `TYPE does not follow its HELP: ${line}`)
      assert.equal(current?.family.type, '', `two TYPEs: ${line}`)
      if (current) current.family.type = type[2] ?? ''
    } else {
      assert.ok(current?.family.type, `a sample without a TYPE: ${line}`)
      const sample = parseSample(line)
      assert.ok(isOf(sample.name, current.name, current.family.type), `${sample.name} stands under ${current.name}`)
      const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      assert.ok(!series.has(key), `a series twice: ${line}`)
      series.add(key)
      current.family.samples.push(sample)
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family.samples)
  return families
}

function parseSample(line: string): Sample {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
  assert.ok(found, `no sample: ${line}`)
  const [, name = '', inside = '', number = ''] = found
  const labels: Record<string, string> = {}
  let rest = inside
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/.exec(rest)
    assert.ok(label, `no label: ${rest} in ${line}`)
    const [whole, key = '', value = ''] = label
    assert.ok(!Object.hasOwn(labels, key), `label ${key} twice: ${line}`)
    labels[key] = value.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))
    rest = rest.slice(whole.length)
  }
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : number === 'Nan' || number === 'NaN' ? 0 : Number(number)
  assert.ok(!Number.isNaN(value), `no number: ${line}`)
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
    assert.equal(limits.at(-1), Number.POSITIVE_INFINITY, `${name} ${series}: no bucket for all`)
    const values = buckets.map(({ value }) => value)
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
      `${name} ${series}: buckets that shrink`,
    )
    assert.equal(values.at(-1), count?.value, `${name} ${series}: the last bucket is not all`)
  }
}

/** What a part tells is what the catalogue has for it: names, types, words, labels and their values. */
export function isCatalogue(part: MetricComponent, text: string): void {
  const told = parseExposition(text)
  const wanted: Record<string, Metric> = { ...metricCatalogue[part], ...processMetrics }
  assert.deepEqual([...told.keys()].sort(), Object.keys(wanted).sort(), `metrics of ${part}`)
  for (const [name, { type, help, labels }] of Object.entries(wanted)) {
    const family = told.get(name)
    assert.equal(family?.type, type, name)
    if (!Object.hasOwn(processMetrics, name)) assert.equal(family?.help, help, name)
    for (const sample of family?.samples ?? []) checkLabels(name, sample, labels)
  }
}

function checkLabels(name: string, { labels: told }: Sample, known: Metric['labels']): void {
  const { le: _, ...own } = told
  // Before the first observation a histogram with labels is told without any.
  if (Object.keys(own).length > 0 || Object.keys(known).length === 0)
    assert.deepEqual(Object.keys(own).sort(), Object.keys(known).sort(), `labels of ${name}`)
  for (const [label, value] of Object.entries(own)) {
    const bound = known[label]
    if (Array.isArray(bound)) assert.ok(bound.includes(value), `${name}{${label}="${value}"} is none of ${bound}`)
  }
}
