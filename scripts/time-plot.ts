/**
 * Draws values over time as an SVG of panels below each other, with linear axes and the times of faults.
 */
import { apart, colours, shown, style } from './plot.ts'

export interface TimePlot {
  title: string
  /** Of all panels. */
  minutes: number
  /** Drawn as vertical lines. */
  faults: readonly number[]
  panels: readonly Panel[]
}

export interface Panel {
  title: string
  unit: string
  lines: readonly { name: string; points: readonly (readonly [minute: number, value: number])[] }[]
}

const [width, panelHeight] = [720, 220]
const [left, right] = [64, 560]
const moreColours = [...colours, '#7c3aed', '#dc2626', '#0891b2', '#65a30d']

export function timePlotOf({ title, minutes, faults, panels }: TimePlot): string {
  const height = panels.length * panelHeight + 24
  const x = (minute: number) => left + (minute / minutes) * (right - left)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${title}">`,
    style,
    ...panels.flatMap((panel, index) => panelOf(panel, index * panelHeight, { x, minutes, faults })),
    `<text class="ink" x="${(left + right) / 2}" y="${height - 8}" text-anchor="middle">minutes</text>`,
    '</svg>',
    '',
  ].join('\n')
}

interface Time extends Pick<TimePlot, 'minutes' | 'faults'> {
  x(minute: number): number
}

function panelOf({ title, unit, lines }: Panel, from: number, { x, minutes, faults }: Time): string[] {
  const box = { top: from + 36, bottom: from + panelHeight - 24 }
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value))
  const ticks = ticksUpTo(Math.max(1, ...values))
  const highest = ticks.at(-1) ?? 1
  const y = (value: number) => box.bottom - (value / highest) * (box.bottom - box.top)
  const names = apart(
    lines.map(({ points }) => y(points.at(-1)?.[1] ?? 0)),
    box,
  )
  const vertical = (minute: number, attributes: string) =>
    `<line ${attributes} x1="${x(minute).toFixed(1)}" x2="${x(minute).toFixed(1)}" y1="${box.top}" y2="${box.bottom}"/>`
  return [
    `<text class="ink" x="${left}" y="${from + 24}" font-weight="600">${title} (${unit})</text>`,
    ...ticksUpTo(minutes)
      .filter(minute => minute <= minutes)
      .flatMap(minute => [
        vertical(minute, 'class="grid"'),
        `<text class="ink" x="${x(minute).toFixed(1)}" y="${box.bottom + 16}" text-anchor="middle">${shown(minute)}</text>`,
      ]),
    ...ticks.flatMap(tick => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}"/>`,
      `<text class="ink" x="${left - 8}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${shown(tick)}</text>`,
    ]),
    ...faults.map(minute => vertical(minute, 'stroke="#dc2626" stroke-opacity=".3" stroke-dasharray="2 3"')),
    ...lines.flatMap(({ name, points }, index) => {
      const colour = moreColours[index % moreColours.length]
      const path = points.map(([minute, value]) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
      return [
        `<polyline points="${path}" stroke="${colour}" stroke-width="1.5" fill="none"/>`,
        `<text x="${right + 10}" y="${((names[index] ?? 0) + 4).toFixed(1)}" fill="${colour}">${name} ${shown(points.at(-1)?.[1] ?? 0)}</text>`,
      ]
    }),
  ]
}

/** From 0 to at least the value, four to eight steps of 1, 2 or 5 times a power of ten. */
export function ticksUpTo(value: number): number[] {
  const power = 10 ** Math.floor(Math.log10(value / 4))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => value / size <= 8) ?? power
  return Array.from({ length: Math.ceil(value / step) + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}
