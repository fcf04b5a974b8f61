/**
 * Lines over the size of a fleet as an SVG, both axes in powers of ten: a straight line at 45° is linear growth.
 */
export interface Plot {
  title: string
  unit: string
  /** The same sizes for each. */
  lines: readonly { name: string; points: readonly (readonly [size: number, value: number])[] }[]
}

const [width, height] = [640, 360]
const box = { left: 64, right: 510, top: 44, bottom: 312 }
const colours = ['#2563eb', '#d97706', '#059669', '#db2777']

export function plotOf({ title, unit, lines }: Plot): string {
  const points = lines.flatMap(line => line.points)
  const x = scaleOf(
    points.map(([size]) => size),
    box.left,
    box.right,
  )
  const y = scaleOf(
    points.map(([, value]) => value),
    box.bottom,
    box.top,
  )
  const drawn = lines.flatMap(({ name, points: own }, index) => {
    const colour = colours[index % colours.length]
    const places = own.map(([size, value]) => [x.at(size), y.at(value)].map(place => place.toFixed(1)))
    const [lastX = '0', lastY = '0'] = places.at(-1) ?? []
    return [
      `<polyline points="${places.map(place => place.join(',')).join(' ')}" stroke="${colour}" stroke-width="2" fill="none"/>`,
      ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`),
      `<text x="${Number(lastX) + 10}" y="${Number(lastY) + 4}" fill="${colour}">${name} ${shown(own.at(-1)?.[1] ?? 0)}</text>`,
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${title}">`,
    '<style>.ink{fill:#334155}.grid{stroke:#94a3b8;stroke-opacity:.35}@media(prefers-color-scheme:dark){.ink{fill:#cbd5e1}}</style>',
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

/** From the power of ten below the smallest to the one above the largest. */
function scaleOf(values: readonly number[], from: number, to: number): { at(value: number): number; ticks: number[] } {
  const positive = values.filter(value => value > 0)
  const least = Math.floor(Math.log10(Math.min(...positive)))
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(...positive))))
  return {
    at: value => from + ((Math.log10(Math.max(value, 10 ** least)) - least) / (most - least)) * (to - from),
    ticks: Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index)),
  }
}

export function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return Number(value.toPrecision(3)).toString()
}
