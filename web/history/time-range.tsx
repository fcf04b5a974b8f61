/**
 * The changes over time as bars, with two handles that choose a part of it.
 */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { clock, duration, ticksOf, tickText } from '../ui/format.ts'
import { Panel, useUi } from '../ui/ui.tsx'
import type { Changed } from './history.tsx'

/** Shares of the whole time, 0 to 1. */
export interface Range {
  a: number
  b: number
}

interface SpanProps {
  all: readonly Changed[]
  range: Range
  setRange: (range: Range) => void
  timeOf: (share: number) => number
  children: ComponentChildren
}

const bars = 96
const hour = 3_600_000

export function Span({ all, range, setRange, timeOf, children }: SpanProps) {
  const { say, now, language } = useUi()
  const [first, last] = [timeOf(0), timeOf(1)]
  const counts = useMemo(() => {
    const found = Array.from({ length: bars }, () => 0)
    for (const { at = '' } of all) {
      const bar = Math.min(bars - 1, Math.floor(((Date.parse(at) - first) / Math.max(1, last - first)) * bars))
      found[bar] = (found[bar] ?? 0) + 1
    }
    return found
  }, [all, first, last])
  const most = Math.max(...counts, 1)
  const [a, b] = [clock(timeOf(range.a), now, language), clock(timeOf(range.b), now, language)]
  const choose = (which: 'a' | 'b') => (event: Event) => {
    const share = Number((event.currentTarget as HTMLInputElement).value) / 1_000
    setRange(which === 'a' ? { ...range, a: Math.min(share, range.b) } : { ...range, b: Math.max(share, range.a) })
  }
  const ticks = ticksOf(first, last)
  const share = (time: number) => Math.max(0, Math.min(1, (time - first) / Math.max(1, last - first)))
  const presets = (
    [
      ['lastHour', hour],
      ['lastDay', 24 * hour],
      ['lastWeek', 168 * hour],
    ] as const
  ).filter(([, back]) => last - back > first)
  return (
    <Panel
      title={say('history.between')}
      badge={<span class="dim">{duration(timeOf(range.b) - timeOf(range.a), say)}</span>}
      right={
        <>
          {presets.map(([name, back]) => (
            <button
              key={name}
              type="button"
              class="btn sm ghost"
              onClick={() => setRange({ a: share(last - back), b: 1 })}
            >
              {say(`history.${name}`)}
            </button>
          ))}
          <button type="button" class="btn sm ghost" onClick={() => setRange({ a: 0, b: 1 })}>
            {say('app.all')}
          </button>
        </>
      }
    >
      <div class="span">
        <div class="flags" aria-hidden="true">
          {(['a', 'b'] as const).map(which => (
            <Flag key={which} at={range[which]} text={`${say(`history.${which}`)} · ${which === 'a' ? a : b}`} />
          ))}
        </div>
        <svg
          class="bars"
          viewBox="0 0 960 64"
          preserveAspectRatio="none"
          role="img"
          aria-label={say('history.bars', { n: all.length, a, b })}
        >
          <rect class="win" x={range.a * 960} width={(range.b - range.a) * 960} height="64" />
          {counts.map((n, index) => {
            const height = n === 0 ? 1.5 : 4 + (n / most) * 54
            const middle = (index + 0.5) / bars
            const inside = middle >= range.a && middle <= range.b
            return (
              <rect
                key={index}
                class={`hb ${inside ? 'in' : ''}`}
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
            <rect class="track-b" width="1000" height="3" />
            <rect class="track-on" x={range.a * 1_000} width={(range.b - range.a) * 1_000} height="3" />
          </svg>
          {(['a', 'b'] as const).map(which => (
            <input
              key={which}
              type="range"
              min="0"
              max="1000"
              value={range[which] * 1_000}
              aria-label={say(`history.${which}`)}
              aria-valuetext={which === 'a' ? a : b}
              onInput={choose(which)}
            />
          ))}
        </div>
        <Axis ticks={ticks.map(time => ({ share: share(time), text: tickText(time, last - first, language) }))} />
      </div>
      {children}
    </Panel>
  )
}

/** Over its handle, and inside of the panel. */
function Flag({ at, text }: { at: number; text: string }) {
  return <span style={{ left: `${at * 100}%`, transform: `translateX(${-at * 100}%)` }}>{text}</span>
}

export function Axis({ ticks }: { ticks: readonly { share: number; text: string }[] }) {
  return (
    <div class="axis" aria-hidden="true">
      {ticks.map(({ share, text }) => (
        <span key={text} style={{ left: `${share * 100}%` }}>
          {text}
        </span>
      ))}
    </div>
  )
}
