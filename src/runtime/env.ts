/**
 * The only reader of the process environment: a schema goes in, frozen settings come out.
 *
 * The schema is used by its shape only, so that the agent, which carries no dependency, can read the environment too.
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

/** All mistakes at once, each with the name of its variable. An empty variable counts as absent, as in a chart that leaves it out. */
export function settingsFrom<T>(schema: Schema<T>, env: Environment): Readonly<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = schema.safeParse(given)
  if (parsed.success) return Object.freeze(parsed.data)
  const lines = parsed.error.issues.map(issue => `  ${issue.path.map(String).join('.')}: ${issue.message}`)
  throw new Error(`the environment is not usable:\n${lines.join('\n')}`)
}
