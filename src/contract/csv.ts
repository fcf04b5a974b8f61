/**
 * Rows as a table for spreadsheets. Free of dependencies.
 */
export function csvText(rows: readonly (readonly (string | undefined)[])[]): string {
  return rows.map(row => `${row.map(cell).join(',')}\r\n`).join('')
}

/** Quoted where RFC 4180 asks for it. A text that a spreadsheet would run as a formula is made harmless. */
function cell(text: string | undefined = ''): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
