/**
 * The reference page of the metrics, from the catalogue.
 */
import { type LabelBound, type Metric, metricCatalogue, processMetrics } from '../src/contract/metrics.ts'
import { type Language, pageName, referencePages, table } from './reference.ts'

interface Texts {
  title: string
  text: string
  columns: readonly string[]
  components: Record<keyof typeof metricCatalogue, string>
  process: string
  each: (what: string) => string
  reasons: (count: number, page: string) => string
}

const texts: Record<Language, Texts> = {
  en: {
    title: 'Metrics',
    text: 'Each component serves exactly these metrics at `GET /metrics` in the Prometheus text format. The agent serves none; the controller counts the results of its Jobs. All metrics exist from the start, so a query does not fail before the first event. The table says for each label what limits the number of series.',
    columns: ['metric', 'type', 'unit', 'labels', 'meaning'],
    components: {
      operator: 'Operator (port 8081)',
      viola: 'Viola (port 8080)',
      controller: 'Controller (port 8080)',
      inventory: 'Inventory (port 18081)',
    },
    process: 'Process metrics of every component',
    each: what => `one per ${what}`,
    reasons: (count, page) => `one of ${count} in [${page}](${page})`,
  },
  ko: {
    title: '메트릭',
    text: '각 구성 요소는 `GET /metrics`에서 다음 메트릭을 Prometheus 텍스트 형식으로 제공합니다. agent는 메트릭을 제공하지 않으며, controller가 Job의 결과를 집계합니다. 모든 메트릭은 시작할 때부터 있으므로 첫 이벤트 전에도 쿼리가 실패하지 않습니다. 레이블마다 시계열 수의 한도를 적었습니다.',
    columns: ['메트릭', '유형', '단위', '레이블', '설명'],
    components: {
      operator: 'operator(포트 8081)',
      viola: 'Viola(포트 8080)',
      controller: 'controller(포트 8080)',
      inventory: '인벤토리(포트 18081)',
    },
    process: '모든 구성 요소의 프로세스 메트릭',
    each: what => `각각 하나(${what})`,
    reasons: (count, page) => `[${page}](${page})의 ${count}개 중 하나`,
  },
}

export const metricPages = () =>
  referencePages('metrics', 'src/contract/metrics.ts', texts, (language, { components, process }) => {
    const tables = Object.entries(metricCatalogue).map(
      ([component, metrics]) =>
        `## ${components[component as keyof typeof components]}\n\n${metricsTable(metrics, language)}`,
    )
    return [...tables, `## ${process}\n\n${metricsTable(processMetrics, language)}`].join('\n')
  })

function metricsTable(metrics: Readonly<Record<string, Metric>>, language: Language): string {
  const rows = Object.entries(metrics).map(([name, { type, help, labels }]) => {
    const bounds = Object.entries(labels).map(([label, bound]) => `\`${label}\`: ${boundText(bound, language)}`)
    return [`\`${name}\``, type, unitOf(name), bounds.join('; '), help]
  })
  return table(texts[language].columns, rows)
}

const unitOf = (name: string) => /_(seconds|bytes)(_total)?$/.exec(name)?.[1] ?? ''

function boundText(bound: LabelBound, language: Language): string {
  const { each, reasons } = texts[language]
  if (typeof bound === 'string') return each(bound)
  return bound.length <= 8 ? bound.join(', ') : reasons(bound.length, pageName('reasons', language))
}
