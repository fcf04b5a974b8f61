/**
 * Lists. A command names the columns of its list once; they become a table, a wide table or CSV. Pure.
 */
import type { Messages } from '../messages/en.ts'
import type { Printable, RenderOptions } from '../output.ts'
import { type Cell, table } from './table.ts'

export interface Column<T> {
  /** Name in the CSV. Without one, the column is only in tables. */
  name?: string
  /** In the CSV. Without it, the field of that name. */
  value?: (row: T, texts: Messages) => string | undefined
  /** Title in tables. Without one, the column is only in the CSV. */
  title?: string | ((texts: Messages) => string)
  /** In tables. Without it, the value. */
  cell?: (row: T, options: RenderOptions) => Cell
  /** Only in the wide table. */
  wide?: boolean
  /** Only in a table with such a row. */
  ifAny?: (row: T) => unknown
  /** A narrow terminal does without the column that has 1 first. */
  drop?: number
}

/** What `print` needs of a list, apart from its data. */
export function list<T extends object>(rows: readonly T[], columns: readonly Column<T>[]): Omit<Printable, 'data'> {
  return {
    lines: options => tableOf(rows, columns, options),
    rows: texts => {
      const named = columns.filter(({ name }) => name !== undefined)
      return [named.map(({ name }) => name), ...rows.map(row => named.map(column => textIn(row, column, texts)))]
    },
  }
}

export function tableOf<T extends object>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  options: RenderOptions,
): string[] {
  const { paint, texts } = options
  const shown = columns.filter(
    ({ title, wide, ifAny }) => title !== undefined && (!wide || options.wide) && (!ifAny || rows.some(ifAny)),
  )
  const optional = shown
    .filter(({ drop }) => drop !== undefined)
    .sort((a, b) => (a.drop ?? 0) - (b.drop ?? 0))
    .map(column => shown.indexOf(column))
  return table(
    shown.map(({ title = '' }) => (typeof title === 'string' ? title : title(texts))),
    rows.map(row => shown.map(column => (column.cell ? column.cell(row, options) : textIn(row, column, texts)))),
    paint,
    { columns: options.columns, optional },
  )
}

function textIn<T extends object>(row: T, { name = '', value }: Column<T>, texts: Messages): string | undefined {
  if (value) return value(row, texts)
  const field: unknown = Object.hasOwn(row, name) ? row[name as keyof T] : undefined
  return field === undefined ? undefined : String(field)
}
