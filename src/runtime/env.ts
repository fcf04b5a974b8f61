/**
 * The only reader of the process environment. `src/contract/setting.ts` turns it into settings.
 */
export type Environment = Readonly<Record<string, string | undefined>>

export function environment(): Environment {
  return Object.freeze({ ...process.env })
}
