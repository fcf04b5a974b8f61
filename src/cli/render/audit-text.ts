/**
 * Text of `audit`: one line per request. Pure.
 */
import { type AuditEntry, auditColumns, auditRow } from '../../contract/audit.ts'
import type { RenderOptions } from '../output.ts'
import { table } from './table.ts'

const shown = ['at', 'action', 'object', 'caller', 'proof', 'outcome'] as const

/** Wide has every field. */
export function auditLines(
  entries: readonly AuditEntry[],
  { paint, wide, columns }: Pick<RenderOptions, 'paint' | 'wide' | 'columns'>,
): string[] {
  if (wide) return table(auditColumns, entries.map(auditRow), paint, { columns })
  const rows = entries.map(entry => shown.map(column => entry[column]))
  return table(shown, rows, paint, { columns })
}
