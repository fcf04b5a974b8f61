/**
 * The shape of an answer: every field at every depth with the type of its value, and no values. The entries of a list are
 * merged into one shape.
 */
export type Shape = string | Shape[] | { [field: string]: Shape }

/** The field of an object that represents several shapes. */
const either = 'one of'
/** The shape of a field that not every entry of a list has. */
const absent = 'absent'

export function shapeOf(value: unknown): Shape {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.map(shapeOf).reduce(merge)]
  if (typeof value !== 'object') return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .map(([field, each]): [string, Shape] => [field, shapeOf(each)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function merge(a: Shape, b: Shape): Shape {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (Array.isArray(a) && Array.isArray(b)) return a[0] === undefined ? b : b[0] === undefined ? a : [merge(a[0], b[0])]
  if (isObject(a) && isObject(b)) {
    const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
    return Object.fromEntries(fields.map(field => [field, merge(a[field] ?? absent, b[field] ?? absent)]))
  }
  const all = [...choices(a), ...choices(b)]
  const kinds = new Map(all.map(each => [JSON.stringify(each), each]))
  return { [either]: [...kinds.keys()].sort().map(key => kinds.get(key) ?? absent) }
}

function isObject(shape: Shape | undefined): shape is { [field: string]: Shape } {
  return typeof shape === 'object' && !Array.isArray(shape) && !(either in shape)
}

function choices(shape: Shape): Shape[] {
  return typeof shape === 'object' && !Array.isArray(shape) && either in shape ? (shape[either] as Shape[]) : [shape]
}

/** The differences from the stored shape, by path. Empty if it matches. */
export function differences(found: Shape, kept: Shape, path = 'the answer'): string[] {
  const mismatches = choices(found).flatMap(one => {
    const candidates = choices(kept).map(each => compare(one, each, path))
    return candidates.find(each => each.length === 0) ?? candidates[0] ?? []
  })
  return [...new Set(mismatches)]
}

function compare(found: Shape, kept: Shape, path: string): string[] {
  if (Array.isArray(found) && Array.isArray(kept)) {
    const [one, other] = [found[0], kept[0]]
    if (one === undefined) return []
    return other === undefined
      ? [`${path}: has entries, but the stored list was empty`]
      : differences(one, other, `${path}[]`)
  }
  if (isObject(found) && isObject(kept))
    return [...new Set([...Object.keys(found), ...Object.keys(kept)])].flatMap(field =>
      differences(found[field] ?? absent, kept[field] ?? absent, `${path}.${field}`),
    )
  return found === kept ? [] : [`${path}: is ${JSON.stringify(found)}, not ${JSON.stringify(kept)}`]
}
