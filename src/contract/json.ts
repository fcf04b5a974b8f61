/**
 * Equality of JSON documents and JSON merge patches (RFC 7396). Free of dependencies.
 *
 * A key whose value is undefined counts as absent. Maps and Sets are equal with equal entries in the same order. Only own keys count, so `__proto__` and `constructor` are plain keys.
 */
type JsonObject = Readonly<Record<string, unknown>>

/** Compares without writing the documents out: informers call it for every event. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]))
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  // They have no keys of their own: two of them would always be equal.
  if (isCollection(a) || isCollection(b)) return isCollection(a) && isCollection(b) && equalJson([...a], [...b])
  // Without lists of the keys: a sync compares thousands of objects.
  for (const key in a) if (!equalJson(ownValue(a, key), ownValue(b, key))) return false
  for (const key in b) if (ownValue(a, key) === undefined && ownValue(b, key) !== undefined) return false
  return true
}

/** The patch that turns `from` into `to`: null for a key that `to` lacks, lists as a whole, empty when they are equal. */
export function mergePatch(from: object, to: object): Record<string, unknown> {
  const [before, after] = [from as JsonObject, to as JsonObject]
  const removed = Object.keys(before).filter(key => ownValue(after, key) === undefined)
  const patch: [string, unknown][] = removed.map(key => [key, null])
  for (const [key, value] of Object.entries(after)) {
    const old = ownValue(before, key)
    if (value === undefined || equalJson(old, value)) continue
    patch.push([key, isJsonObject(old) && isJsonObject(value) ? mergePatch(old, value) : value])
  }
  return Object.fromEntries(patch)
}

/** Returns a new document; `target` and `patch` stay unchanged. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const before = isJsonObject(target) ? target : {}
  const patched = Object.entries(patch).map(([key, value]) => [key, applyMergePatch(ownValue(before, key), value)])
  const after = Object.entries({ ...before, ...Object.fromEntries(patched) })
  return Object.fromEntries(after.filter(([key]) => ownValue(patch, key) !== null))
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCollection(value: object): value is Map<unknown, unknown> | Set<unknown> {
  return value instanceof Map || value instanceof Set
}

function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
