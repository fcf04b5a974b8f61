/**
 * The JSON merge patch (RFC 7396) that turns one document into another: what is gone is null, lists are whole.
 */
type Document = Readonly<Record<string, unknown>>

export function mergePatch(before: Document, after: Document): Record<string, unknown> {
  const patch: Record<string, unknown> = {}
  for (const key of Object.keys(before)) if (after[key] === undefined) patch[key] = null
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue
    const old = before[key]
    if (isDocument(old) && isDocument(value)) {
      const inner = mergePatch(old, value)
      if (Object.keys(inner).length > 0) patch[key] = inner
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch[key] = value
  }
  return patch
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
