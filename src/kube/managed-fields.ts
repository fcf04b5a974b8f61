/**
 * Reads what the API server says without managedFields: they are half of its text, and nobody here looks at them.
 *
 * They are cut out of the text, because reading them would be most of what a watch costs. Within a string of JSON a quote
 * is escaped, so an opening is always the key itself. The end is known by the shape that servers give it; should a name
 * within ever look like that end, half a string is left over, which is no JSON, and the whole text is read instead.
 */

const opening = '"managedFields":[{"'
/** How an entry begins in a kind of the server's own, and in one of a CustomResourceDefinition. */
const entries = ['manager":"', 'apiVersion":"']

export function parseUnmanaged(text: string): unknown {
  const cut = withoutManagedFields(text)
  if (cut === undefined) return JSON.parse(text)
  try {
    return JSON.parse(cut)
  } catch {
    return JSON.parse(text)
  }
}

/** Undefined when there are none. */
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

/** Where the closing bracket is: after it comes the end of the metadata, or their next name. */
function endOf(text: string, from: number): number | undefined {
  for (let at = text.indexOf('}]', from); at >= 0; at = text.indexOf('}]', at + 2)) {
    if (text[at + 2] === '}' || text.startsWith(',"', at + 2)) return at + 1
  }
  return undefined
}
