/**
 * One copy of each text that repeats in large lists, such as the ID of a network in every port: parsing JSON makes a new one
 * each time.
 */

/** The servers of a large fleet, and their networks and subnets. */
const maxTexts = 50_000

const known = new Map<string, string>()

export function shared(text: string): string {
  const found = known.get(text)
  if (found !== undefined) return found
  if (known.size >= maxTexts) known.clear()
  known.set(text, text)
  return text
}
