/**
 * The shape of an answer: every field at every depth with the kind of its value, and nothing of the values themselves. Of the
 * entries of a list all that was seen counts as one.
 */
export type Shape = string | Shape[] | { [field: string]: Shape }

/** The field of an object that stands for several shapes. */
const either = 'one of'
/** Of a field that not every entry of a list has. */
const absent = 'absent'

export function shapeOf(value: unknown): Shape {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.map(shapeOf).reduce(merged)]
  if (typeof value !== 'object') return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .map(([field, each]): [string, Shape] => [field, shapeOf(each)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function merged(a: Shape, b: Shape): Shape {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (Array.isArray(a) && Array.isArray(b))
    return a[0] === undefined ? b : b[0] === undefined ? a : [merged(a[0], b[0])]
  if (isObject(a) && isObject(b)) {
    const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
    return Object.fromEntries(fields.map(field => [field, merged(a[field] ?? absent, b[field] ?? absent)]))
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

/** What of a shape is not as the kept one says, by path; nothing when it fits. */
export function differences(found: Shape, kept: Shape, path = 'the answer'): string[] {
  const misfits = choices(found).flatMap(one => {
    const tries = choices(kept).map(each => compared(one, each, path))
    return tries.find(each => each.length === 0) ?? tries[0] ?? []
  })
  return [...new Set(misfits)]
}

function compared(found: Shape, kept: Shape, path: string): string[] {
  if (Array.isArray(found) && Array.isArray(kept)) {
    const [one, other] = [found[0], kept[0]]
    if (one === undefined) return []
    return other === undefined
      ? [`${path}: has entries, and the real list was empty`]
      : differences(one, other, `${path}[]`)
  }
  if (isObject(found) && isObject(kept))
    return [...new Set([...Object.keys(found), ...Object.keys(kept)])].flatMap(field =>
      differences(found[field] ?? absent, kept[field] ?? absent, `${path}.${field}`),
    )
  return found === kept ? [] : [`${path}: is ${JSON.stringify(found)}, not ${JSON.stringify(kept)}`]
}
