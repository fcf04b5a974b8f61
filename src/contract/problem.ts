/**
 * Errors of our HTTP APIs: application/problem+json, with every invalid field by path.
 */
import { z } from 'zod'

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
export function fieldErrors(error: z.ZodError, at = ''): { path: string; message: string }[] {
  return error.issues.map(issue => ({ path: pathText(issue.path, at), message: issue.message }))
}

/** The first errors in one line, for `detail` of a problem. */
export function summaryOf(errors: readonly { path: string; message: string }[]): string {
  const shown = errors.slice(0, 5).map(({ path, message }) => (path ? `${path}: ${message}` : message))
  const more = errors.length - shown.length
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text ? `${text}.${String(step)}` : String(step)
  }, at)
}
