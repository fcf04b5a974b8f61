/**
 * Rows as CSV. Free of dependencies.
 */
export function csvText(rows: readonly (readonly (string | undefined)[])[]): string {
  return rows.map(row => `${row.map(cell).join(',')}\r\n`).join('')
}

/** Quotes as RFC 4180 requires. A leading apostrophe keeps spreadsheets from running a text as a formula. */
function cell(text: string | undefined = ''): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
