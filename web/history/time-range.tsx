/**
 * The changes over time as bars, with two handles that select a period.
 */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { useUi } from '../ui/context.ts'
import { clock, duration, ticksOf, tickText } from '../ui/format.ts'
import { Panel } from '../ui/panel.tsx'
import type { NodeChange } from './node-changes.ts'

/** Fractions of the whole time, 0 to 1. */
export interface Range {
  a: number
  b: number
}

interface TimeRangeProps {
  all: readonly NodeChange[]
  range: Range
  setRange: (range: Range) => void
  timeOf: (fraction: number) => number
  children: ComponentChildren
}

const barCount = 96
const hour = 3_600_000

export function TimeRange({ all, range, setRange, timeOf, children }: TimeRangeProps) {
  const { t, now, language } = useUi()
  const [first, last] = [timeOf(0), timeOf(1)]
  const counts = useMemo(() => {
    const counted = Array.from({ length: barCount }, () => 0)
    for (const { at = '' } of all) {
      const bar = Math.min(barCount - 1, Math.floor(((Date.parse(at) - first) / Math.max(1, last - first)) * barCount))
      counted[bar] = (counted[bar] ?? 0) + 1
    }
    return counted
  }, [all, first, last])
  const max = Math.max(...counts, 1)
  const [a, b] = [clock(timeOf(range.a), now, language), clock(timeOf(range.b), now, language)]
  const choose = (which: 'a' | 'b') => (event: Event) => {
    const fraction = Number((event.currentTarget as HTMLInputElement).value) / 1_000
    setRange(
      which === 'a' ? { ...range, a: Math.min(fraction, range.b) } : { ...range, b: Math.max(fraction, range.a) },
    )
  }
  const ticks = ticksOf(first, last)
  const fractionOf = (time: number) => Math.max(0, Math.min(1, (time - first) / Math.max(1, last - first)))
  const presets = (
    [
      ['lastHour', hour],
      ['lastDay', 24 * hour],
      ['lastWeek', 168 * hour],
    ] as const
  ).filter(([, back]) => last - back > first)
  return (
    <Panel
      title={t('history.between')}
      badge={<span class="dim">{duration(timeOf(range.b) - timeOf(range.a), t)}</span>}
      right={
        <>
          {presets.map(([name, back]) => (
            <button
              key={name}
              type="button"
              class="btn small ghost"
              onClick={() => setRange({ a: fractionOf(last - back), b: 1 })}
            >
              {t(`history.${name}`)}
            </button>
          ))}
          <button type="button" class="btn small ghost" onClick={() => setRange({ a: 0, b: 1 })}>
            {t('app.all')}
          </button>
        </>
      }
    >
      <div class="time-range">
        <div class="flags" aria-hidden="true">
          {(['a', 'b'] as const).map(which => (
            <Flag key={which} at={range[which]} text={`${t(`history.${which}`)} · ${which === 'a' ? a : b}`} />
          ))}
        </div>
        <svg
          class="bars"
          viewBox="0 0 960 64"
          preserveAspectRatio="none"
          role="img"
          aria-label={t('history.bars', { n: all.length, a, b })}
        >
          <rect class="selected-period" x={range.a * 960} width={(range.b - range.a) * 960} height="64" />
          {counts.map((n, index) => {
            const height = n === 0 ? 1.5 : 4 + (n / max) * 54
            const middle = (index + 0.5) / barCount
            const inside = middle >= range.a && middle <= range.b
            return (
              <rect
                key={index}
                class={`change-bar ${inside ? 'is-selected' : ''}`}
                x={index * 10 + 2}
                y={64 - height}
                width="6"
                height={height}
                rx="1"
              />
            )
          })}
        </svg>
        <div class="handles">
          <svg class="track" viewBox="0 0 1000 3" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track-background" width="1000" height="3" />
            <rect class="track-selected" x={range.a * 1_000} width={(range.b - range.a) * 1_000} height="3" />
          </svg>
          {(['a', 'b'] as const).map(which => (
            <input
              key={which}
              type="range"
              min="0"
              max="1000"
              value={range[which] * 1_000}
              aria-label={t(`history.${which}`)}
              aria-valuetext={which === 'a' ? a : b}
              onInput={choose(which)}
            />
          ))}
        </div>
        <Axis
          ticks={ticks.map(time => ({ fraction: fractionOf(time), text: tickText(time, last - first, language) }))}
        />
      </div>
      {children}
    </Panel>
  )
}

/** Above its handle, and always inside the panel. */
function Flag({ at, text }: { at: number; text: string }) {
  return <span style={{ left: `${at * 100}%`, transform: `translateX(${-at * 100}%)` }}>{text}</span>
}

export function Axis({ ticks }: { ticks: readonly { fraction: number; text: string }[] }) {
  return (
    <div class="axis" aria-hidden="true">
      {ticks.map(({ fraction, text }) => (
        <span key={text} style={{ left: `${fraction * 100}%` }}>
          {text}
        </span>
      ))}
    </div>
  )
}
