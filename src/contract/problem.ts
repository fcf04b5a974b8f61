/**
 * How our HTTP APIs say that something is wrong: application/problem+json, with every wrong field by path.
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
  .meta({ description: 'What is wrong, in words for people, and every wrong field by its path.' })

export type Problem = z.infer<typeof problem>

/** The issues of a failed parse by path, in the spelling people know from Kubernetes: `[0].interfaces[2].mtu`. */
export function fieldErrors(error: z.ZodError, at = ''): { path: string; message: string }[] {
  return error.issues.map(issue => ({ path: pathText(issue.path, at), message: issue.message }))
}

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text ? `${text}.${String(step)}` : String(step)
  }, at)
}
