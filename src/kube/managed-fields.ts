/**
 * Parses JSON of the API server without managedFields, which are half of its text and unused here.
 *
 * They are cut out of the text, because parsing them would be most of the cost of a watch. Quotes in JSON strings are
 * escaped, so the opening is always the key itself. The end is found by its usual form. If a name inside looks like that
 * end, the remaining text is not valid JSON, and the complete text is parsed instead.
 */

const opening = '"managedFields":[{"'
/** How an entry begins in a built-in kind, and in a custom resource. */
const entries = ['manager":"', 'apiVersion":"']

export function parseWithoutManagedFields(text: string): unknown {
  const shorter = withoutManagedFields(text)
  if (shorter === undefined) return JSON.parse(text)
  try {
    return JSON.parse(shorter)
  } catch {
    return JSON.parse(text)
  }
}

/** Undefined if there are none. */
function withoutManagedFields(text: string): string | undefined {
  const kept: string[] = []
  let done = 0
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + opening.length)) {
    const first = at + opening.length
    if (!entries.some(entry => text.startsWith(entry, first))) continue
    const end = endOf(text, first)
    if (end === undefined) break
    kept.push(text.slice(done, first - 2))
    done = end
  }
  return kept.length ? kept.join('') + text.slice(done) : undefined
}

/** Position of the closing bracket: the end of the metadata or the next key follows it. */
function endOf(text: string, from: number): number | undefined {
  for (let at = text.indexOf('}]', from); at >= 0; at = text.indexOf('}]', at + 2)) {
    if (text[at + 2] === '}' || text.startsWith(',"', at + 2)) return at + 1
  }
  return undefined
}
