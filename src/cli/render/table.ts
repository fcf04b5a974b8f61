/**
 * Rows as aligned columns, with or without a header. Pure.
 */
import { type Paint, plain, type Tone } from './paint.ts'
import { widthOf } from './wrap.ts'

export type Cell = string | undefined | { text: string; tone: Tone }

/** Separates columns by two spaces and drops columns without any text. */
export function aligned(rows: readonly (readonly Cell[])[], paint: Paint = plain): string[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(textOf(cell)))
  return rows.map(row =>
    row
      .map((cell, at) => ({ cell, width: widths[at] ?? 0 }))
      .filter(({ width }) => width > 0)
      .map(({ cell, width }) => {
        const text = textOf(cell)
        const painted = typeof cell === 'object' ? paint(cell.tone, text) : text
        return painted + ' '.repeat(width - widthOf(text))
      })
      .join('  ')
      .trimEnd(),
  )
}

export function table(head: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint = plain): string[] {
  return aligned([head.map(text => ({ text, tone: 'strong' as const })), ...rows], paint)
}

function textOf(cell: Cell): string {
  const text = typeof cell === 'object' ? cell.text : (cell ?? '')
  return text.replaceAll('\n', ' ')
}
