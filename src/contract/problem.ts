/**
 * Errors of our HTTP APIs: application/problem+json, with every invalid field by path.
 */
import * as z from 'zod'
import type { FieldError } from './interfaces.ts'

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int32(),
    detail: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ description: 'Problem details (RFC 9457) with every invalid field by path.' })

export type Problem = z.infer<typeof problem>

/** Issues of a failed parse by path, in the notation of Kubernetes: `[0].interfaces[2].mtu`. */
export function fieldErrors(error: z.ZodError, at = ''): FieldError[] {
  return error.issues.slice(0, maxErrors).map(issue => ({ path: pathText(issue.path, at), message: issue.message }))
}

/** Further errors of a request are not reported. */
export const maxErrors = 100

/**
 * The first list, at any depth, with more entries than any list of our contracts may have. A schema collects an issue for
 * every invalid entry of a list before it refuses the list for its length.
 */
export function longListIn(value: unknown, maxLength: number, path: PropertyKey[] = []): FieldError | undefined {
  const found = findLongList(value, maxLength)
  if (!found) return undefined
  const message = `too many entries: ${found.length}, at most ${maxLength}`
  return { path: pathText([...path, ...found.path.reverse()], ''), message }
}

/** The path is built on the way back: of a large value without such a list, nothing is allocated. */
function findLongList(value: unknown, maxLength: number): { path: PropertyKey[]; length: number } | undefined {
  if (Array.isArray(value) && value.length > maxLength) return { path: [], length: value.length }
  if (typeof value !== 'object' || value === null) return undefined
  for (const key of Object.keys(value)) {
    const found = findLongList((value as Record<string, unknown>)[key], maxLength)
    if (!found) continue
    found.path.push(Array.isArray(value) ? Number(key) : key)
    return found
  }
  return undefined
}

/** The first errors in one line, for `detail` of a problem. */
export function summaryOf(errors: readonly FieldError[]): string {
  const shown = errors.slice(0, 5).map(({ path, message }) => (path ? `${path}: ${message}` : message))
  const more = errors.length - shown.length
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

export function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text ? `${text}.${String(step)}` : String(step)
  }, at)
}
