/** The metric catalogue follows the naming rules of Prometheus; alerts and dashboard use only metrics of the catalogue. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { type Metric, metricCatalogue, processMetrics } from '../../src/contract/metrics.ts'
import { root } from './sources.ts'

const own: [string, Metric][] = Object.values(metricCatalogue).flatMap(component => Object.entries<Metric>(component))
const known = new Map<string, Metric>([...own, ...Object.entries(processMetrics)])

test('metric names follow Prometheus: a prefix, the unit last, counters end in _total', () => {
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

test('every metric has a help text, and every label a set of values', () => {
  const wrong = own.filter(
    ([, { help, labels }]) =>
      !/^[A-Z0-9].*\.$/.test(help) ||
      Object.entries(labels).some(([label, bound]) => !/^[a-z_]+$/.test(label) || label === 'le' || bound.length === 0),
  )
  assert.deepEqual(wrong, [])
})

/** Labels that Prometheus adds; `cluster` only one that collects from several clusters. */
const always = ['cluster', 'job', 'instance', 'namespace', 'pod', 'le']
const keywords = /^(by|without|on|ignoring|group_left|group_right|and|or|unless|bool|offset|inf|nan)$/i

/** The metrics of an expression, each with the labels that it uses; labels in `by (…)` count for all of them. */
function metricsIn(expression: string): { name: string; labels: string[] }[] {
  const grouped = [...expression.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map(label => label.trim()),
  )
  const bare = expression
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\$__\w+/g, ' ')
  return [...bare.matchAll(/\b([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{[^}]*\})?/g)].flatMap(([, name = '', next = '']) => {
    if (next === '(' || keywords.test(name) || /"[^"]*$/.test(bare.slice(0, bare.indexOf(name)))) return []
    const matched = [...next.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)
    return [{ name, labels: [...matched, ...grouped] }]
  })
}

function unknownIn(expression: string): string[] {
  const found = metricsIn(expression)
  if (found.length === 0) return [`${expression}: has no metric`]
  return found.flatMap(({ name, labels }) => {
    if (name === 'up') return []
    const metric = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ''))
    if (!metric) return [`${expression}: ${name} is not a metric`]
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

test('alerts use metrics and labels that exist', () => {
  assert.ok(rules.length > 5)
  assert.deepEqual(
    rules.flatMap(({ expr }) => unknownIn(expr)),
    [],
  )
})

test('alerts use only possible label values and labels that the expression keeps', () => {
  const wrong = rules.flatMap(({ alert, expr, annotations = {} }) => {
    const values = [...expr.matchAll(/([a-z_]\w*)="([^"]*)"/g)].filter(([, label = '', value = '']) => {
      const bounds = metricsIn(expr).map(({ name }) => known.get(name)?.labels[label])
      return !bounds.some(bound => typeof bound === 'string' || bound?.includes(value))
    })
    const annotated = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = '']) => label)
    const by = /\bby\s*\(([^)]*)\)/
      .exec(expr)?.[1]
      ?.split(',')
      .map(label => label.trim())
    const remaining = by ?? metricsIn(expr).flatMap(({ name }) => Object.keys(known.get(name)?.labels ?? {}))
    return [
      ...values.map(([matcher]) => `${alert}: ${matcher}`),
      ...annotated
        .filter(label => ![...remaining, ...always].includes(label))
        .map(label => `${alert}: $labels.${label}`),
    ]
  })
  assert.deepEqual(wrong, [])
})

/** Labels of a legend that the result of its query does not have. */
function unknownInLegend({ expr, legendFormat }: { expr: string; legendFormat: string }): string[] {
  const by = /\bby\s*\(([^)]*)\)/.exec(expr)?.[1]
  const kept = by?.split(',').map(label => label.trim())
  const own = metricsIn(expr).flatMap(({ name }) => Object.keys(known.get(name)?.labels ?? {}))
  return [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
    .map(([, label = '']) => label)
    .filter(label => !(kept ?? [...own, ...always]).includes(label))
    .map(label => `${expr}: no {{${label}}}`)
}

test('the Grafana dashboard uses metrics and labels that exist', () => {
  const { panels }: { panels: { targets: { expr: string; legendFormat: string }[] }[] } = JSON.parse(
    readFileSync(join(root, 'deployments/helm/files/grafana.json'), 'utf8'),
  )
  const targets = panels.flatMap(panel => panel.targets)
  assert.ok(targets.length > 5)
  assert.deepEqual(
    targets.flatMap(target => [...unknownIn(target.expr), ...unknownInLegend(target)]),
    [],
  )
})

test('the check finds an unknown metric and an unknown label', () => {
  assert.deepEqual(unknownIn('sum by (state) (rate(multinic_results_total{reason="x"}[5m])) > 0'), [])
  assert.deepEqual(unknownIn('sum(multinic_gone) by (state)'), [
    'sum(multinic_gone) by (state): multinic_gone is not a metric',
  ])
  const expr = 'sum by (state) (multinic_configs)'
  assert.deepEqual(unknownInLegend({ expr, legendFormat: '{{state}} {{job}}' }), [`${expr}: no {{job}}`])
  assert.deepEqual(unknownIn('multinic_configs{color="red"}'), [
    'multinic_configs{color="red"}: multinic_configs has no label color',
  ])
})
