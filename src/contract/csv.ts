/**
 * Rows as CSV. Free of dependencies.
 */
export function csvText(rows: readonly (readonly (string | undefined)[])[]): string {
  return rows.map(row => `${row.map(cell).join(',')}\r\n`).join('')
}

/**
 * What a spreadsheet may run as a formula: a sign, behind characters that it ignores. Excel with East Asian settings accepts
 * full-width signs too.
 */
const formula = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^\p{Cc}/u

/** Quotes as RFC 4180 requires. A leading apostrophe keeps spreadsheets from running a text as a formula. */
function cell(text: string | undefined = ''): string {
  const safe = formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
