/**
 * Verdicts on the samples and logs of a soak: flat memory, bounded queues, no repeated warnings. Pure.
 */
import { median } from '../bench/figure.ts'

export interface Sample {
  /** Seconds since the start of the churn. */
  at: number
  /** `operator.mib`, `controller.queue_depth`, `biz.jobs` */
  values: Record<string, number>
}

export interface Verdict {
  check: string
  met: boolean
  /** The result as a sentence. */
  text: string
  figures?: Record<string, number>
}

/** How far the mean of the last third may exceed that of the middle third: a share of it, or `slack` if that is more. */
export interface GrowthLimit {
  share: number
  slack: number
}

/** Ignores the first third: caches fill up, and killed components restart. */
export function judgeGrowth(
  check: string,
  samples: readonly Sample[],
  name: string,
  limit: GrowthLimit,
  unit: string,
): Verdict {
  const known = samples.filter(({ values }) => values[name] !== undefined)
  const third = Math.floor(known.length / 3)
  if (third < 1) return { check, met: false, text: `${known.length} samples are too few` }
  const late = known.slice(-2 * third).map(({ at, values }) => ({ at, value: values[name] ?? 0 }))
  const [middle, last] = [mean(late.slice(0, third)), mean(late.slice(third))]
  const allowed = Math.max(limit.share * middle, limit.slack)
  const trend = slopeOf(late) * ((late.at(-1)?.at ?? 0) - (late[0]?.at ?? 0))
  const text = `${shown(middle)} ${unit} in the middle third, ${shown(last)} in the last; trend ${shown(trend)} over both`
  const stepped = last - middle > allowed ? `more than ${shown(allowed)} above` : undefined
  // In a steady rise the means differ by half of the total rise.
  const rising = trend > 2 * allowed ? `a steady rise of more than ${shown(2 * allowed)}` : undefined
  const problem = stepped ?? rising
  return {
    check,
    met: problem === undefined,
    text: problem ? `${text}: ${problem}` : text,
    figures: { middle: round(middle), last: round(last), trend: round(trend), allowed: round(allowed) },
  }
}

/** Fails if a single sample exceeds the limit. */
export function judgeMaximum(
  check: string,
  samples: readonly Sample[],
  name: string,
  { limit, unit }: { limit: number; unit: string },
): Verdict {
  const values = samples.flatMap(sample => sample.values[name] ?? [])
  if (values.length === 0) return { check, met: false, text: 'no sample' }
  const highest = Math.max(...values)
  const text = `at most ${shown(highest)} ${unit}`
  const met = highest <= limit
  return { check, met, text: met ? text : `${text}: more than ${limit}`, figures: { highest, allowed: limit } }
}

export interface RatioLimit {
  /** Names of two values that grow. */
  of: string
  to: string
  limit: number
  unit: string
}

/** Compares the growth of two values from the first sample to the last. */
export function judgeRatio(check: string, samples: readonly Sample[], { of, to, limit, unit }: RatioLimit): Verdict {
  const known = samples.filter(({ values }) => values[of] !== undefined && values[to] !== undefined)
  const growthOf = (name: string) => (known.at(-1)?.values[name] ?? 0) - (known[0]?.values[name] ?? 0)
  if (growthOf(to) <= 0) return { check, met: false, text: `${to} did not grow` }
  const ratio = growthOf(of) / growthOf(to)
  const text = `${shown(ratio)} ${unit}`
  const met = ratio <= limit
  return {
    check,
    met,
    text: met ? text : `${text}: more than ${limit}`,
    figures: { ratio: round(ratio), allowed: limit },
  }
}

export interface Point {
  at: number
  value: number
}

/** The median of the slopes between all pairs (Theil–Sen): robust against single peaks. */
export function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((one, index) =>
    points
      .slice(index + 1)
      .flatMap(other => (other.at > one.at ? [(other.value - one.value) / (other.at - one.at)] : [])),
  )
  return slopes.length === 0 ? 0 : median(slopes)
}

export interface LogWarning {
  component: string
  /** The constant message, with the reason if there is one. */
  message: string
  /** Milliseconds since 1970. */
  time: number
}

/** A period in which components may log warnings: a fault and the recovery from it. */
export interface FaultWindow {
  from: number
  to: number
}

/** The share of a period that is outside all fault windows. */
export function undisturbedShare(faultWindows: readonly FaultWindow[], from: number, to: number): number {
  let [covered, until] = [0, from]
  for (const window of faultWindows.toSorted((a, b) => a.from - b.from)) {
    const [start, end] = [Math.max(window.from, until), Math.min(window.to, to)]
    if (end <= start) continue
    covered += end - start
    until = end
  }
  return 1 - covered / (to - from)
}

/**
 * Fails if a counter grew outside all fault windows. A sample shows a growth since the one before. `startedAt` is the time of
 * second 0 of the samples.
 */
export function judgeSteps(
  check: string,
  samples: readonly Sample[],
  name: string,
  { faultWindows, startedAt }: { faultWindows: readonly FaultWindow[]; startedAt: number },
): Verdict {
  const known = samples.flatMap(({ at, values }) => {
    const value = values[name]
    return value === undefined ? [] : [{ time: startedAt + at * 1_000, at, value }]
  })
  if (known.length === 0) return { check, met: false, text: 'no sample' }
  const steps = known.flatMap((now, index) => {
    const before = known[index - 1]
    return before && now.value > before.value ? [{ ...now, from: before.time }] : []
  })
  const unexplained = steps.filter(step => !faultWindows.some(({ from, to }) => from <= step.time && to >= step.from))
  const text = `${steps.length} changes, ${unexplained.length} of them without a fault`
  return {
    check,
    met: unexplained.length === 0,
    text: [text, ...unexplained.map(({ at }) => `before second ${at}`)].join('; '),
    figures: { changes: steps.length, unexplained: unexplained.length },
  }
}

export interface WarningCount {
  component: string
  message: string
  times: number
  /** How many of them outside all fault windows. */
  unexplained: number
}

export function countWarnings(warnings: readonly LogWarning[], faultWindows: readonly FaultWindow[]): WarningCount[] {
  const isExplained = (time: number) => faultWindows.some(({ from, to }) => time >= from && time <= to)
  return [...Map.groupBy(warnings, ({ component, message }) => `${component} ${message}`).values()]
    .flatMap(all => all.slice(0, 1).map(({ component, message }) => ({ component, message, all })))
    .map(({ component, message, all }) => ({
      ...{ component, message, times: all.length },
      unexplained: all.filter(({ time }) => !isExplained(time)).length,
    }))
    .toSorted((a, b) => b.unexplained - a.unexplained || b.times - a.times)
}

/** Fails if a component logs the same warning twice without a fault. */
export function judgeWarnings(counts: readonly WarningCount[]): Verdict {
  const sum = (of: 'times' | 'unexplained') => counts.reduce((total, count) => total + count[of], 0)
  const repeated = counts.filter(({ unexplained }) => unexplained > 1)
  const total = `${sum('times')} warnings, ${sum('unexplained')} of them without a fault`
  return {
    check: 'no repeated warning',
    met: repeated.length === 0,
    text: [
      total,
      ...repeated.map(({ component, message, unexplained }) => `${unexplained} times "${component}: ${message}"`),
    ].join('; '),
    figures: { warnings: sum('times'), unexplained: sum('unexplained'), repeated: repeated.length },
  }
}

/** The warning in a line of a log, or undefined. A line that is not JSON counts too: a crash message. */
export function warningOf(component: string, line: string, now: number): LogWarning | undefined {
  if (line.trim() === '') return undefined
  try {
    const { level, message, reason, time } = JSON.parse(line) as Record<string, unknown>
    if (level !== 'warn' && level !== 'error') return undefined
    const text = typeof reason === 'string' ? `${message} (${reason})` : `${message}`
    return { component, message: text, time: Date.parse(`${time}`) || now }
  } catch {
    return { component, message: line.slice(0, 200), time: now }
  }
}

export function tableOf(verdicts: readonly Verdict[]): string {
  const width = Math.max(...verdicts.map(({ check }) => check.length))
  return verdicts
    .map(({ check, met, text }) => `${met ? 'ok    ' : 'FAILED'}  ${check.padEnd(width)}  ${text}`)
    .join('\n')
}

function mean(points: readonly Point[]): number {
  return points.reduce((sum, { value }) => sum + value, 0) / points.length
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function shown(value: number): string {
  return String(Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10)
}
