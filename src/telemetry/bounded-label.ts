/**
 * Bounds the values of a label that callers can choose: the first ones keep their name, the others share one.
 */
export function boundedLabel(max: number): (value: string) => string {
  const known = new Set<string>()
  return value => {
    if (known.size < max) known.add(value)
    return known.has(value) ? value : 'other'
  }
}
