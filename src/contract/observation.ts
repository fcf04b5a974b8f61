/**
 * How old the last observation of an interface is, and whether it is too old to vouch for the interface. Free of
 * dependencies: the CLI and the dashboard must agree.
 */
export interface ObservationTimes {
  lastChecked?: string | undefined
  /** The Go implementation reported only this time. */
  lastConfigured?: string | undefined
  checkIntervalSeconds?: number | undefined
}

export interface Observation {
  observedAt?: string
  /** Present if nobody has looked for twice the interval of the checks. */
  notVerifiedSince?: string
}

/** While the checks for drift are off, an observation becomes too old as if they ran at their default interval. */
const defaultIntervalSeconds = 3_600

export function observationOf(
  { lastChecked, lastConfigured, checkIntervalSeconds = defaultIntervalSeconds }: ObservationTimes,
  now: Date,
): Observation {
  const observedAt = lastChecked ?? lastConfigured
  if (observedAt === undefined) return {}
  const ageMs = now.getTime() - Date.parse(observedAt)
  return { observedAt, ...(ageMs > 2_000 * checkIntervalSeconds && { notVerifiedSince: observedAt }) }
}
