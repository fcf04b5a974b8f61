/**
 * Draws values over the size of a fleet as an SVG with logarithmic axes: linear growth is a straight line at 45°.
 */
export interface Plot {
  title: string
  unit: string
  /** All lines have the same sizes. */
  lines: readonly { name: string; points: readonly (readonly [size: number, value: number])[] }[]
}

const [width, height] = [640, 360]
const box = { left: 76, right: 510, top: 44, bottom: 312 }
/** Height of a line of text; names that are closer together are moved apart. */
const lineHeight = 15
/** Text and grid on white and on black. */
export const style =
  '<style>.ink{fill:#334155}.grid{stroke:#94a3b8;stroke-opacity:.35}@media(prefers-color-scheme:dark){.ink{fill:#cbd5e1}}</style>'
/** Readable on white and on black. */
export const colours = ['#3b82f6', '#d97706', '#059669', '#db2777']

export function plotOf({ title, unit, lines }: Plot): string {
  const points = lines.flatMap(line => line.points)
  const sizes = [...new Set(points.map(([size]) => size))].sort((one, other) => one - other)
  const values = points.map(([, value]) => value).filter(value => value > 0)
  const x = scaleOf(sizes, box.left, box.right)
  const y = scaleOf(powersAround(values), box.bottom, box.top)
  const placed = lines.map(({ name, points: own }, index) => ({
    name: `${name} ${shown(own.at(-1)?.[1] ?? 0)}`,
    colour: colours[index % colours.length],
    places: own.map(([size, value]) => [x.at(size), y.at(value)] as const),
  }))
  const names = apart(
    placed.map(({ places }) => places.at(-1)?.[1] ?? box.bottom),
    box,
  )
  const drawn = placed.flatMap(({ name, colour, places }, index) => [
    `<polyline points="${places.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' ')}" stroke="${colour}" stroke-width="2" fill="none"/>`,
    ...places.map(([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3" fill="${colour}"/>`),
    `<text x="${box.right + 12}" y="${((names[index] ?? 0) + 4).toFixed(1)}" fill="${colour}">${name}</text>`,
  ])
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${title}">`,
    style,
    `<text class="ink" x="${box.left}" y="24" font-size="14" font-weight="600">${title}</text>`,
    ...x.ticks.flatMap(tick => [
      `<line class="grid" x1="${x.at(tick).toFixed(1)}" x2="${x.at(tick).toFixed(1)}" y1="${box.top}" y2="${box.bottom}"/>`,
      `<text class="ink" x="${x.at(tick).toFixed(1)}" y="${box.bottom + 18}" text-anchor="middle">${shown(tick)}</text>`,
    ]),
    ...y.ticks.flatMap(tick => [
      `<line class="grid" x1="${box.left}" x2="${box.right}" y1="${y.at(tick).toFixed(1)}" y2="${y.at(tick).toFixed(1)}"/>`,
      `<text class="ink" x="${box.left - 8}" y="${(y.at(tick) + 4).toFixed(1)}" text-anchor="end">${shown(tick)}</text>`,
    ]),
    `<text class="ink" x="${(box.left + box.right) / 2}" y="${height - 10}" text-anchor="middle">nodes</text>`,
    `<text class="ink" x="16" y="${(box.top + box.bottom) / 2}" transform="rotate(-90 16 ${(box.top + box.bottom) / 2})" text-anchor="middle">${unit}</text>`,
    ...drawn,
    '</svg>',
    '',
  ].join('\n')
}

/** The powers of ten that enclose all values. */
function powersAround(values: readonly number[]): number[] {
  const lowest = Math.floor(Math.log10(Math.min(...values)))
  const highest = Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index))
}

/** Logarithmic from the first tick to the last. Values below the first tick, also zero, are drawn on it. */
function scaleOf(
  ticks: readonly number[],
  from: number,
  to: number,
): { at(value: number): number; ticks: readonly number[] } {
  const [first = 1] = ticks
  const whole = Math.log10((ticks.at(-1) ?? first) / first) || 1
  return { at: value => from + (Math.log10(Math.max(value, first) / first) / whole) * (to - from), ticks }
}

/** Heights of the names, in the given order: near the end of their line, one line of text apart, within the box. */
export function apart(heights: readonly number[], box: { top: number; bottom: number }): number[] {
  const order = heights.map((height, index) => ({ height, index })).sort((one, other) => one.height - other.height)
  const placed: number[] = []
  let free = box.top
  for (const [rank, { height, index }] of order.entries()) {
    const lowest = box.bottom - (order.length - 1 - rank) * lineHeight
    const at = Math.min(Math.max(height, free), lowest)
    placed[index] = at
    free = at + lineHeight
  }
  return placed
}

export function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return Number(value.toPrecision(3)).toString()
}
