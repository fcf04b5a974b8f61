/** The catalogue of metrics keeps to the conventions of Prometheus, and alerts and board to the catalogue. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { type Metric, metricCatalogue, processMetrics } from '../../src/contract/metrics.ts'
import { root } from './sources.ts'

const own: [string, Metric][] = Object.values(metricCatalogue).flatMap(part => Object.entries<Metric>(part))
const known = new Map<string, Metric>([...own, ...Object.entries(processMetrics)])

test('metrics are named as Prometheus asks: a prefix, the unit last, counters in _total', () => {
  const wrong = [...known].filter(([name, { type }]) => {
    const bare = name.replace(/_total$/, '')
    return (
      !/^(multinic|viola|inventory|process|nodejs)_[a-z0-9_]+$/.test(name) ||
      (type === 'counter') !== name.endsWith('_total') ||
      (type === 'histogram' && !name.endsWith('_seconds')) ||
      /_(ms|milliseconds|minutes|kb|mb|kib|mib|percent|timestamp)$/.test(bare) ||
      /_(count|sum|bucket)$/.test(name)
    )
  })
  assert.deepEqual(wrong, [])
})

test('every metric has words, and every label a bound', () => {
  const wrong = own.filter(
    ([, { help, labels }]) =>
      !/^[A-Z0-9].*\.$/.test(help) ||
      Object.entries(labels).some(([label, bound]) => !/^[a-z_]+$/.test(label) || label === 'le' || bound.length === 0),
  )
  assert.deepEqual(wrong, [])
})

/** What Prometheus itself adds. */
const always = ['job', 'instance', 'namespace', 'pod', 'le']
const words = /^(by|without|on|ignoring|group_left|group_right|and|or|unless|bool|offset|inf|nan)$/i

/** Every metric of an expression with the labels that it is asked for; labels in `by (…)` go to all of them. */
function metricsIn(expression: string): { name: string; labels: string[] }[] {
  const grouped = [...expression.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map(label => label.trim()),
  )
  const bare = expression
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\$__\w+/g, ' ')
  return [...bare.matchAll(/\b([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{[^}]*\})?/g)].flatMap(([, name = '', next = '']) => {
    if (next === '(' || words.test(name) || /"[^"]*$/.test(bare.slice(0, bare.indexOf(name)))) return []
    const matched = [...next.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)
    return [{ name, labels: [...matched, ...grouped] }]
  })
}

function unknownIn(expression: string): string[] {
  const found = metricsIn(expression)
  if (found.length === 0) return [`${expression}: asks for nothing`]
  return found.flatMap(({ name, labels }) => {
    if (name === 'up') return []
    const metric = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ''))
    if (!metric) return [`${expression}: ${name} is no metric`]
    return labels
      .filter(label => !always.includes(label) && !Object.hasOwn(metric.labels, label))
      .map(label => `${expression}: ${name} has no label ${label}`)
  })
}

interface Alerts {
  groups: { rules: { alert?: string; expr: string; annotations?: Record<string, string> }[] }[]
}
const alerts: Alerts = parse(readFileSync(join(root, 'deployments/helm/files/alerts.yaml'), 'utf8'))
const rules = alerts.groups.flatMap(group => group.rules)

test('alerts ask for metrics and labels that there are', () => {
  assert.ok(rules.length > 5)
  assert.deepEqual(
    rules.flatMap(({ expr }) => unknownIn(expr)),
    [],
  )
})

test('alerts speak only of values that a label can have, and of labels that are left', () => {
  const wrong = rules.flatMap(({ alert, expr, annotations = {} }) => {
    const values = [...expr.matchAll(/([a-z_]\w*)="([^"]*)"/g)].filter(([, label = '', value = '']) => {
      const bounds = metricsIn(expr).map(({ name }) => known.get(name)?.labels[label])
      return !bounds.some(bound => typeof bound === 'string' || bound?.includes(value))
    })
    const told = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = '']) => label)
    const by = /\bby\s*\(([^)]*)\)/
      .exec(expr)?.[1]
      ?.split(',')
      .map(label => label.trim())
    const left = by ?? metricsIn(expr).flatMap(({ name }) => Object.keys(known.get(name)?.labels ?? {}))
    return [
      ...values.map(([matcher]) => `${alert}: ${matcher}`),
      ...told.filter(label => ![...left, ...always].includes(label)).map(label => `${alert}: $labels.${label}`),
    ]
  })
  assert.deepEqual(wrong, [])
})

test('the board asks for metrics and labels that there are', () => {
  const board = readFileSync(join(root, 'deployments/helm/files/grafana.json'), 'utf8')
  const expressions: string[] = []
  JSON.parse(board, (key, value) => {
    if (key === 'expr') expressions.push(String(value))
    return value
  })
  assert.ok(expressions.length > 5)
  assert.deepEqual(expressions.flatMap(unknownIn), [])
})

test('a metric or label that is not there would be found', () => {
  assert.deepEqual(unknownIn('sum by (state) (rate(multinic_results_total{reason="x"}[5m])) > 0'), [])
  assert.deepEqual(unknownIn('sum(multinic_gone) by (state)'), [
    'sum(multinic_gone) by (state): multinic_gone is no metric',
  ])
  assert.deepEqual(unknownIn('multinic_configs{color="red"}'), [
    'multinic_configs{color="red"}: multinic_configs has no label color',
  ])
})
