/**
 * The changes over time as bars, with two handles that choose a part of it.
 */
import { useMemo } from 'preact/hooks'
import { clock } from './format.ts'
import type { Changed } from './history.tsx'
import { Panel, useUi } from './ui.tsx'

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
}

const bars = 96

export function Span({ all, range, setRange, timeOf }: SpanProps) {
  const { say, now, language } = useUi()
  const [first, last] = [timeOf(0), timeOf(1)]
  const counts = useMemo(() => {
    const found = Array.from({ length: bars }, () => 0)
    for (const { at } of all) {
      const bar = Math.min(bars - 1, Math.floor(((at - first) / Math.max(1, last - first)) * bars))
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
  return (
    <Panel title={say('history.between')} right={`${a} – ${b}`}>
      <div class="span">
        <svg
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
        <div class="ends">
          <span>{clock(first, now, language)}</span>
          <span>{clock(last, now, language)}</span>
        </div>
      </div>
    </Panel>
  )
}
