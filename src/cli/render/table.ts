/**
 * Rows as aligned columns that fit the terminal, with or without a header. Pure.
 */
import { type Paint, plain, type Tone } from './paint.ts'
import { widthOf, wrapped } from './wrap.ts'

export type Cell = string | undefined | { text: string; tone: Tone }
type Row = readonly Cell[]

export interface Fit {
  /** Of the terminal. Without it, or 0, a line may have any length. */
  columns?: number | undefined
  /** Indexes of the columns that a narrow terminal does without, the least important first. */
  optional?: readonly number[]
}

const gap = '  '
/** A wrapped cell is not narrower, unless its text is. */
const minCellWidth = 12

/** Separates columns by two spaces and drops columns without any text. */
export function aligned(rows: readonly Row[], paint: Paint = plain, fit: Fit = {}): string[] {
  return fitted(rows, fit, left => {
    const widths = widthsOf(left)
    return { widths, fits: totalOf(widths) <= limitOf(fit) }
  }).flatMap(({ row, widths }) => rowLines(row, widths, paint))
}

/** Before a table drops a column it wraps the texts of its cells at spaces. */
export function table(head: readonly string[], rows: readonly Row[], paint: Paint = plain, fit: Fit = {}): string[] {
  const all = [head.map(text => ({ text, tone: 'strong' as const })), ...rows]
  return fitted(all, fit, left => narrowed(left, limitOf(fit))).flatMap(({ row, widths }) =>
    rowLines(row, widths, paint),
  )
}

interface Layout {
  widths: number[]
  fits: boolean
}

/** Drops as few of the optional columns as possible. If none of the layouts fits, the terminal wraps whole lines. */
function fitted(rows: readonly Row[], { optional = [] }: Fit, layoutOf: (rows: readonly Row[]) => Layout) {
  for (let dropped = 0; ; dropped++) {
    const without = optional.slice(0, dropped)
    const left = rows.map(row => row.filter((_, at) => !without.includes(at)))
    const { widths, fits } = layoutOf(left)
    if (fits || dropped === optional.length) return left.map(row => ({ row, widths }))
  }
}

function narrowed(rows: readonly Row[], limit: number): Layout {
  const natural = widthsOf(rows)
  const words = widthsOf(rows, text => Math.max(...text.split(/\s+/).map(widthOf)))
  const min = natural.map((width, at) => Math.min(width, Math.max(words[at] ?? 0, minCellWidth)))
  if (totalOf(min) > limit) return { widths: natural, fits: false }
  const widths = [...natural]
  while (totalOf(widths) > limit) {
    const spare = widths.map((width, at) => width - (min[at] ?? 0))
    const widest = spare.indexOf(Math.max(...spare))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return { widths, fits: true }
}

function rowLines(row: Row, widths: readonly number[], paint: Paint): string[] {
  const cells = row.map((cell, at) => wrapped(textOf(cell), widths[at] ?? 0, ''))
  const height = Math.max(1, ...cells.map(lines => lines.length))
  return Array.from({ length: height }, (_, line) =>
    row
      .map((cell, at) => ({ cell, text: cells[at]?.[line] ?? '', width: widths[at] ?? 0 }))
      .filter(({ width }) => width > 0)
      .map(({ cell, text, width }) => {
        const painted = typeof cell === 'object' ? paint(cell.tone, text) : text
        return painted + ' '.repeat(Math.max(0, width - widthOf(text)))
      })
      .join(gap)
      .trimEnd(),
  )
}

function widthsOf(rows: readonly Row[], measure: (text: string) => number = widthOf): number[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, measure(textOf(cell)))
  return widths
}

function totalOf(widths: readonly number[]): number {
  const shown = widths.filter(width => width > 0)
  return shown.reduce((sum, width) => sum + width, gap.length * Math.max(0, shown.length - 1))
}

function limitOf({ columns }: Fit): number {
  return columns || Number.POSITIVE_INFINITY
}

function textOf(cell: Cell): string {
  const text = typeof cell === 'object' ? cell.text : (cell ?? '')
  return text.replaceAll('\n', ' ')
}
