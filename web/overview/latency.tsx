/**
 * Time to ready, from port seen to verified: p50 and p95 in the order in which ports were seen, and the median of each stage.
 */
import { useMemo } from 'preact/hooks'
import type { Node } from '../model/nodes.ts'
import { type Band, bandsOf, type Latency, latencyOf } from '../model/stages.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { clock, count, duration, preciseDuration } from '../ui/format.ts'
import { Panel } from '../ui/panel.tsx'

const [left, right, top, bottom] = [34, 436, 14, 190]
/** The goal of p95, from port seen to verified. */
const goalMs = 15_000

/** Of ports that were seen after `since`. */
export function LatencyPanel({ nodes, since }: { nodes: readonly Node[]; since: number }) {
  const { t, now, language } = useUi()
  const latency = useMemo(() => latencyOf(nodes, since), [nodes, since])
  if (!latency)
    return (
      <Panel title={t('overview.timeToReady')}>
        {since > 0 ? (
          <EmptyState kind="empty" title={t('overview.noneInRange')} />
        ) : (
          <EmptyState kind="empty" title={t('overview.notMeasured')} text={t('overview.notMeasuredText')} />
        )}
      </Panel>
    )
  const { p50, p95, steps } = latency
  const { points } = latency
  const bands = bandsOf(points)
  const max = Math.max(
    goalMs * 1.05,
    Math.min(
      points.reduce((top, { ms }) => Math.max(top, ms), 0),
      p95 * 2,
    ) * 1.12,
  )
  const y = (ms: number) => bottom - (Math.min(ms, max) / max) * (bottom - top)
  const nics = t('count.nics', { n: count(latency.points.length, language) })
  const step = niceStep(max)
  const lines = Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step)
  return (
    <Panel title={t('overview.timeToReady')} right={t('overview.measured', { nics })}>
      <div class="latency">
        <div class="big">
          {[p50, p95].map((ms, index) => (
            <div key={index === 0 ? 'p50' : 'p95'}>
              <b>{preciseDuration(ms, t)}</b>
              <span>
                <svg class="legend-key" viewBox="0 0 14 8" aria-hidden="true">
                  <path class={index === 0 ? 'chart-p50' : 'chart-p95'} d="M0 4h14" />
                </svg>
                {index === 0 ? 'p50' : 'p95'}
              </span>
            </div>
          ))}
        </div>
        <svg
          class="chart"
          viewBox="0 0 440 212"
          role="img"
          aria-label={t('overview.timeToReadyLabel', { p50: duration(p50, t), p95: duration(p95, t), nics })}
        >
          {lines.map(ms => (
            <g key={ms}>
              <path class="chart-grid" d={`M${left} ${y(ms)}H${right}`} />
              <text class="chart-text" x="0" y={y(ms) + 4}>
                {preciseDuration(ms, t)}
              </text>
            </g>
          ))}
          <path class="chart-goal" d={`M${left} ${y(goalMs)}H${right}`} />
          <text class="chart-text" x={right} y={y(goalMs) - 4} text-anchor="end">
            {t('overview.goal')}
          </text>
          {bands.length > 1 ? <Bands bands={bands} y={y} /> : <Dots points={points} y={y} p50={p50} p95={p95} />}
          <text class="chart-text" x={left} y="208">
            {clock(points[0]?.at ?? now, now, language)}
          </text>
          <text class="chart-text" x={right} y="208" text-anchor="end">
            {clock(points.at(-1)?.at ?? now, now, language)}
          </text>
        </svg>
        <StageBar steps={steps} />
      </div>
    </Panel>
  )
}

interface ChartProps {
  y: (ms: number) => number
}

/** p95 as an area and p50 as a line. */
function Bands({ bands, y }: ChartProps & { bands: readonly Band[] }) {
  const x = (index: number) => left + ((right - left) * index) / (bands.length - 1)
  const line = (of: (band: Band) => number) =>
    bands.map((band, index) => `${x(index).toFixed(1)} ${y(of(band)).toFixed(1)}`).join('L')
  const last = bands.at(-1)
  return (
    <>
      <path class="chart-area" d={`M${line(({ p95 }) => p95)}V${bottom}H${left}Z`} />
      <path class="chart-p95" d={`M${line(({ p95 }) => p95)}`} />
      <path class="chart-p50" d={`M${line(({ p50 }) => p50)}`} />
      {last && <circle class="chart-end" cx={right} cy={y(last.p50)} r="3" />}
    </>
  )
}

/** One dot for each NIC, if there are too few for bands. */
function Dots({ points, y, p50, p95 }: ChartProps & { points: Latency['points']; p50: number; p95: number }) {
  const x = (index: number) =>
    points.length === 1 ? (left + right) / 2 : left + 6 + ((right - left - 12) * index) / (points.length - 1)
  return (
    <>
      <path
        class="chart-dots"
        d={points.map(({ ms }, index) => `M${x(index).toFixed(1)} ${y(ms).toFixed(1)}h0`).join('')}
      />
      <path class="chart-p95" d={`M${left} ${y(p95)}H${right}`} />
      <path class="chart-p50" d={`M${left} ${y(p50)}H${right}`} />
    </>
  )
}

function StageBar({ steps }: { steps: NonNullable<ReturnType<typeof latencyOf>>['steps'] }) {
  const { t } = useUi()
  const widths = steps.map(({ ms }) => Math.max(ms, 1))
  const sum = widths.reduce((total, width) => total + width, 0)
  const max = Math.max(...widths)
  let at = 0
  return (
    <>
      <svg class="segment-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {steps.map(({ stage }, index) => {
          const width = ((widths[index] ?? 0) / sum) * (100 - 0.6 * (steps.length - 1))
          const x = at
          at += width + 0.6
          return (
            <rect
              key={stage}
              class={widths[index] === max ? 'step-4' : `step-${(index % 3) + 1}`}
              x={x}
              width={Math.max(width, 0.6)}
              height="6"
            />
          )
        })}
      </svg>
      <div class="stages">
        {steps.map(({ stage, ms }) => (
          <span key={stage}>
            <b>{duration(ms, t)}</b>
            {t(`stage.${stage}`)}
          </span>
        ))}
      </div>
    </>
  )
}

function niceStep(max: number): number {
  return [5_000, 10_000, 20_000, 60_000, 300_000, 600_000, 1_800_000].find(step => max / step <= 4.5) ?? 3_600_000
}
