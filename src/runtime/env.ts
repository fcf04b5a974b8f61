/**
 * The only reader of the process environment. Turns it into frozen settings by a schema.
 *
 * `Schema` is structural, so that the agent, which has no dependencies, can use it without zod.
 */
export type Environment = Readonly<Record<string, string | undefined>>

interface Schema<T> {
  safeParse(
    input: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: readonly { path: PropertyKey[]; message: string }[] } }
}

export function environment(): Environment {
  return Object.freeze({ ...process.env })
}

/** Reports all mistakes at once, each with the name of its variable. An empty variable counts as unset. */
export function settingsFrom<T>(schema: Schema<T>, env: Environment): Readonly<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = schema.safeParse(given)
  if (parsed.success) return Object.freeze(parsed.data)
  const lines = parsed.error.issues.map(issue => `  ${issue.path.map(String).join('.')}: ${issue.message}`)
  throw new Error(`invalid environment:\n${lines.join('\n')}`)
}
