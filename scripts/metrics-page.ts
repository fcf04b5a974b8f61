/**
 * The page of metrics, from the catalogue.
 */
import { type LabelBound, type Metric, metricCatalogue, processMetrics } from '../src/contract/metrics.ts'

const titles = {
  operator: 'Operator (port 8081)',
  viola: 'Viola (port 8080)',
  controller: 'Controller (port 8080)',
  inventory: 'Inventory (port 18081)',
} as const

export function metricsPage(): string {
  const parts = Object.entries(metricCatalogue).map(
    ([part, metrics]) => `## ${titles[part as keyof typeof titles]}\n\n${table(metrics)}`,
  )
  return `<!-- Made by \`make generate\` from src/contract/metrics.ts. Do not edit. -->
# Metrics

Each part answers \`GET /metrics\` in the text format of Prometheus with exactly these. The agent has no door: the controller
counts what its Jobs came to. Everything is there from the start, so that a query never fails on a part that has not done
the work yet. What bounds the number of series is told for every label.

${parts.join('\n')}
## The process, in every part

${table(processMetrics)}`
}

function table(metrics: Readonly<Record<string, Metric>>): string {
  const rows = Object.entries(metrics).map(
    ([name, { type, help, labels }]) => `| \`${name}\` | ${type} | ${unitOf(name)} | ${labelText(labels)} | ${help} |`,
  )
  return `| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n${rows.join('\n')}\n`
}

/** As its name says it. */
function unitOf(name: string): string {
  return /_(seconds|bytes)(_total)?$/.exec(name)?.[1] ?? ''
}

function labelText(labels: Metric['labels']): string {
  return Object.entries(labels)
    .map(([label, bound]) => `\`${label}\`: ${boundText(bound)}`)
    .join('; ')
}

function boundText(bound: LabelBound): string {
  if (typeof bound === 'string') return `one for each ${bound}`
  return bound.length <= 8 ? bound.join(', ') : `one of ${bound.length} in [reasons.md](reasons.md)`
}
