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

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text ? `${text}.${String(step)}` : String(step)
  }, at)
}
